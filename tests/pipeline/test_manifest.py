"""run.json: what it says of inputs and versions, and how it is read."""

import hashlib
import json

import pytest

from bgsub.errors import InputError
from bgsub.pipeline.results import Stopwatch, input_identity, load_manifest, peak_memory, versions
from tests.conftest import make_facts


class TestInputIdentity:
    def test_of_a_file(self, tmp_path):
        path = tmp_path / "Wasser ä.avi"
        path.write_bytes(b"12345")
        assert input_identity(str(path)) == {
            "path": str(path),
            "absolute_path": str(path),
            "name": "Wasser ä.avi",
            "size_bytes": 5,
            "sha256": hashlib.sha256(b"12345").hexdigest(),
        }

    def test_of_images_is_the_same_by_folder_glob_and_pattern(self, tmp_path, images, scene):
        folder = images(scene(n=3))
        found = [
            input_identity(given) for given in (folder, f"{folder}/*.png", f"{folder}/f%d.png")
        ]
        assert len({facts["sha256"] for facts in found}) == 1
        total = sum(file.stat().st_size for file in (tmp_path / "shots").iterdir())
        assert {facts["size_bytes"] for facts in found} == {total}
        assert found[0]["name"] == "shots"

    def test_of_a_folder_leaves_out_what_is_no_image(self, tmp_path, images, scene):
        folder = images(scene(n=3))
        before = input_identity(folder)
        (tmp_path / "shots" / "holiday.mov").write_bytes(b"0" * 1000)
        (tmp_path / "shots" / ".hidden.png").write_bytes(b"0")
        assert input_identity(folder) == before

    def test_follows_content_names_and_order(self, tmp_path, images, scene):
        folder = tmp_path / "shots"
        digests = {input_identity(images(scene(n=3)))["sha256"]}
        (folder / "f1.png").rename(folder / "g.png")
        digests.add(input_identity(str(folder))["sha256"])
        (folder / "g.png").write_bytes(b"0")
        digests.add(input_identity(str(folder))["sha256"])
        assert len(digests) == 3

    def test_of_a_missing_file_reads_nothing_else(self, tmp_path):
        (tmp_path / "other.avi").write_bytes(b"0" * 100)
        facts = input_identity(str(tmp_path / "water.avi"))
        assert (facts["name"], facts["size_bytes"], facts["sha256"]) == ("water.avi", None, None)


class TestLoadManifest:
    def save(self, folder, text):
        (folder / "run.json").write_text(text, encoding="utf-8")
        return folder

    def test_from_the_folder_or_the_file(self, tmp_path):
        plain = make_facts(k=3)
        self.save(tmp_path, json.dumps(plain))
        assert load_manifest(tmp_path) == load_manifest(tmp_path / "run.json") == plain

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            (None, "holds no finished results"),
            ("{", "is not JSON"),
            ("[1]", "was not written by bgsub; name a folder"),
            ('{"name": "npm"}', "was not written by bgsub; name a folder"),
            ('{"schema_version": 99}', "schema version 99"),
        ],
    )
    def test_anything_else_is_refused_by_name_in_one_line(self, tmp_path, text, match):
        if text is not None:
            self.save(tmp_path, text)
        with pytest.raises(InputError, match=match) as caught:
            load_manifest(tmp_path)
        assert str(tmp_path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_bytes_that_are_no_text(self, tmp_path):
        (tmp_path / "run.json").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InputError, match="is not JSON"):
            load_manifest(tmp_path)


def test_stages_are_timed_and_add_up_also_when_they_fail():
    watch = Stopwatch()
    with watch.stage("fit"):
        pass
    with pytest.raises(RuntimeError), watch.stage("write"):
        raise RuntimeError
    with watch.stage("fit"):
        pass
    assert list(watch.seconds) == ["fit", "write"]
    assert all(seconds >= 0 for seconds in watch.seconds.values())


def test_versions_name_the_libraries_that_decide_a_result():
    found = versions()
    assert {"bgsub", "python", "numpy", "scipy", "av", "opencv-python-headless"} <= set(found)
    assert "not installed as a package" not in found.values()


def test_peak_memory_is_that_of_this_process():
    peak = peak_memory()
    assert peak is None or 10**7 < peak < 10**12
