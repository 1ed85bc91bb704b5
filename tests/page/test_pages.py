"""The page of a result: it holds what was found, escapes what it is given and stays small."""

import base64
import hashlib
import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import InputError
from bgsub.outliers.errors_table import read_csv
from bgsub.page.films import pack_integers
from bgsub.page.pages import (
    draw_tracks,
    encode_page,
    frames_shown,
    make_page,
    pack_boxes,
    pack_series,
    time_color,
)
from bgsub.pipeline.results import load_manifest
from bgsub.pipeline.run import run
from bgsub.tracking.tracker import Observation
from tests.page.long_results import write_long_results

EVIL = "<script>alert(1)</script>\"'&amp; </script> ümläut 水 \N{RIGHT-TO-LEFT OVERRIDE}"


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


class TestOfARun:
    def test_it_is_an_output_like_others(self, reported, manifest_of):
        outputs = manifest_of(reported)["outputs"]
        assert {"report.html", "input.mp4"} <= set(outputs)
        assert outputs["report.html"]["bytes"] == (reported / "report.html").stat().st_size
        assert manifest_of(reported)["stages_s"]["report"] > 0

    def test_it_links_to_the_four_videos_beside_it(self, reported, reading):
        page = reading((reported / "report.html").read_text(encoding="utf-8"))
        found = {film["view"]: film["src"] for film in page.data["films"]}
        assert found == {v: f"{v}.mp4" for v in ("input", "background", "foreground", "mask")}
        assert len(page.all("video")) == 4

    def test_its_curves_are_those_of_the_tables(self, reported, reading):
        data = reading((reported / "report.html").read_text(encoding="utf-8")).data
        table = read_csv(reported / "errors.csv")
        assert data["frames"] == {"runs": [[1, 1, 48]]}
        np.testing.assert_allclose(floats(data["curves"]["error"]), table.rmse, rtol=1e-6)
        np.testing.assert_allclose(floats(data["curves"]["whole"]), table.scores, rtol=1e-6)
        with av.open(str(reported / "mask.mp4")) as masks:
            shares = [100 * np.mean(f.to_ndarray(format="gray") >= 128) for f in masks.decode()]
        np.testing.assert_allclose(floats(data["curves"]["foreground"]), shares, atol=0.3)

    def test_events_have_rows_links_and_pictures(self, reported, reading, manifest_of):
        page = reading((reported / "report.html").read_text(encoding="utf-8"))
        events = json.loads((reported / "events.json").read_text())["events"]
        assert events
        targets = {link.get("href") for link in page.all("a")}
        for event in events:
            assert f"#event-{event['number']}" in targets
            assert f"#frame-{event['peak_frame']}" in targets
        rows = [row["id"] for row in page.all("tr") if "id" in row]
        assert rows == [f"event-{event['number']}" for event in events]
        pictures = [image["src"] for image in page.all("img")]
        assert len(pictures) == len(events)
        assert all(picture.startswith("data:image/webp;base64,") for picture in pictures)
        assert manifest_of(reported)["findings"][0][1:] in " ".join(page.texts["p"])

    def test_nothing_is_loaded_from_elsewhere_or_run_but_its_own_scripts(self, reported, reading):
        html = (reported / "report.html").read_text(encoding="utf-8")
        page = reading(html)
        policy = next(
            m["content"] for m in page.all("meta") if "content" in m and "src" in m["content"]
        )
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
        styles = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
        allowed = dict(part.split(" ", 1) for part in policy.split("; "))
        for kind, texts in (("script-src", scripts), ("style-src", styles)):
            digests = [hashlib.sha256(text.encode()).digest() for text in texts]
            wanted = {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}
            assert wanted == set(allowed[kind].split())
        assert not re.search(r"\beval\(|new Function\(", html)
        for tag, attributes in page.tags:
            for name, value in attributes.items():
                assert not name.startswith("on"), (tag, name)
                assert name != "style", tag
                if name in {"src", "href"}:
                    assert value.startswith(("data:image/webp", "#")), value


class TestEscaping:
    @pytest.fixture
    def hostile(self, reported, tmp_path):
        """Results of which every text is an attack."""
        folder = tmp_path / "a #1? 100% <b> 'x' & \"y\" 水"
        shutil.copytree(reported, folder)
        manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))

        for name in ("findings", "hints", "warnings", "mask_notes", "fit_warnings"):
            manifest[name] = [EVIL]
        manifest["input"] |= {"name": EVIL, "path": EVIL, "absolute_path": EVIL, "codec": EVIL}
        manifest["directory"] = manifest["mask_model"] = EVIL
        manifest["versions"] = {EVIL: EVIL}
        manifest["stages_s"] = {EVIL: EVIL}
        manifest["mask_states"] = [
            {"share": EVIL, "level": 1, "noise": None, "threshold": 2, "trust": 1}
        ]
        manifest["options"]["ignore"] = EVIL
        (folder / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
        return folder

    def test_texts_stay_texts(self, hostile, reading):
        page = make_page(hostile, load_manifest(hostile), hostile / "report.html").html
        plain = make_page(hostile, load_manifest(hostile), hostile / "report.html").html
        assert page == plain
        read = reading(page)
        assert (
            "alert(1)"
            not in "".join(read.texts.get("script", [])).replace(EVIL, "").split('"use strict"')[0]
        )
        assert page.count("<script>alert") == 0
        own = len(re.findall(r"<script>", page))
        assert own == len([tag for tag, _ in read.tags if tag == "script"]) - 1
        assert EVIL in "".join(read.texts["h1"])
        assert any(EVIL in text for text in read.texts["dd"])
        assert read.data["films"][3]["src"] == "mask.mp4"

    def test_links_lead_into_folders_of_any_name(self, hostile, reading):
        page = make_page(hostile, load_manifest(hostile), hostile.parent / "report.html").html
        source = reading(page).data["films"][0]["src"]
        assert source.endswith("%20%27x%27%20%26%20%22y%22%20%E6%B0%B4/input.mp4")
        assert not re.search(r"[\s#?<>\"'&]", source)

    def test_names_that_are_no_text_can_be_written(self, reported, tmp_path):
        manifest = load_manifest(reported)
        name = b"\xff\xfe.avi".decode("utf-8", "surrogateescape")
        manifest = {**manifest, "input": {**manifest["input"], "name": name}}
        html = make_page(reported, manifest, tmp_path / "p.html").html
        assert b"??.avi" in encode_page(html)


class TestOtherResults:
    def test_of_masks_alone(self, save, scene, options, tmp_path, reading):
        run(save(scene(12, visit=8)), tmp_path / "out", options(outputs={"mask", "report"}))
        data = reading((tmp_path / "out" / "report.html").read_text(encoding="utf-8")).data
        assert set(data["curves"]) == {"foreground"}
        assert data["cutoff"] is None
        reasons = {film["view"]: film.get("reason") for film in data["films"]}
        assert reasons == {"input": None, "mask": None}

    def test_heat_map_and_minutes_are_shown(self, save, scene, options, tmp_path, reading):
        regions = tmp_path / "regions.json"
        regions.write_text('{"a <b> door": [[0, 0], [20, 0], [20, 36], [0, 36]]}')
        chosen = options(outputs={"heatmap", "activity", "report"}, regions=str(regions), fps=0.2)
        run(save(scene(24, visit=16)), tmp_path / "r", chosen)
        page = reading((tmp_path / "r" / "report.html").read_text())
        heat = [each for each in page.all("img") if each.get("class") == "heat"]
        assert heat[0]["src"].startswith("data:image/webp;base64,")
        assert "a <b> door" in page.texts["h3"]
        minutes = [text for text in page.texts["title"] if text.startswith("Minute")]
        assert [text.split(":")[0] for text in minutes] == ["Minute 1", "Minute 2"] * 2
        assert "objects 1, events 1" in minutes[1]

    def test_lossless_videos_are_shown_as_stills_or_copied(self, whole_run, tmp_path, reading):
        manifest = load_manifest(whole_run.out)
        path = tmp_path / "p.html"
        page = reading(make_page(whole_run.out, manifest, path).html)
        mask = page.data["films"][3]
        assert mask["reason"] == "browsers do not play mask.mkv"
        assert len(mask["pictures"]) == len(mask["places"]) > 0
        copies = tmp_path / "p_files"
        page = make_page(whole_run.out, manifest, path, copies=copies)
        assert reading(page.html).data["films"][3]["src"] == "p_files/mask.mp4"
        with av.open(str(copies / "mask.mp4")) as copied:
            assert sum(1 for _ in copied.decode(video=0)) == 48
        copied = {path.name for path in copies.iterdir()}
        assert copied == {"background.mp4", "foreground.mp4", "mask.mp4"}

    def test_a_film_that_browsers_play_is_linked_itself(
        self, encode, scene, options, tmp_path, reading
    ):
        film = encode(scene(), "clip.mp4")
        result = run(film, tmp_path / "out", options(start=5, every=2, outputs={"errors"}))
        page = make_page(result.out, result.manifest, result.out / "r.html", footage=film)
        shown = reading(page.html).data["films"][0]
        assert shown["src"] == "../clip.mp4"
        first, step, count = shown["stamps"]["runs"][0]
        assert first * shown["base"] == pytest.approx(0.16)
        assert step * shown["base"] == pytest.approx(0.08)
        assert count == 22

    def test_a_film_that_is_gone_is_said_to_be(self, reported, tmp_path, reading):
        folder = shutil.copytree(reported, tmp_path / "r")
        (folder / "input.mp4").unlink()
        page = make_page(folder, load_manifest(folder), folder / "p.html", footage="/gone.avi")
        assert page.views[0].reason == "the film of this run is gone"
        assert "the film of this run is gone" in page.html

    def test_a_preview_is_in_the_page_and_its_size_is_said_before(
        self, reported, tmp_path, reading
    ):
        said = []
        page = make_page(
            reported,
            load_manifest(reported),
            tmp_path / "p.html",
            standalone=True,
            announce=lambda frames, size: said.append((frames, size)),
        )
        films = reading(page.html).data["films"]
        assert all(film["src"].startswith("data:video/mp4;base64,") for film in films)
        size = sum(len(film["src"]) for film in films)
        assert said[0][0] == 48
        assert 0.3 < said[0][1] / size < 3

    def test_what_is_no_run_is_refused(self, tmp_path):
        with pytest.raises(InputError, match="compare"):
            make_page(tmp_path, {"command": "compare"}, tmp_path / "p.html")


def test_a_long_film_with_many_events_makes_a_small_page(reported, tmp_path, reading):
    """Four times as long and with pictures, it is in a browser in tests/browser/test_large.py."""
    manifest = write_long_results(reported, tmp_path / "r", frames=25_000, events=250)
    page = make_page(tmp_path / "r", manifest, tmp_path / "r" / "p.html")
    room_for_pictures = 1_500_000 + 540_000  # of events, and the curve of the foreground
    assert 4 * len(encode_page(page.html)) <= 5_000_000 - room_for_pictures
    read = reading(page.html)
    lines = (tmp_path / "r" / "errors.csv").read_text().splitlines()[1:]
    scores = [float(line.split(",")[4]) for line in lines]
    np.testing.assert_allclose(floats(read.data["curves"]["whole"]), scores, rtol=1e-6)


def unpacked(packed):
    if "runs" in packed:
        return [first + i * step for first, step, count in packed["runs"] for i in range(count)]
    steps = np.frombuffer(base64.b64decode(packed["steps"]), "<i4")
    return [packed["first"], *(packed["first"] + np.cumsum(steps)).tolist()]


@given(st.lists(st.integers(0, 10**6), max_size=60))
def test_integers_come_back(values):
    assert unpacked(pack_integers(values)) == values


@given(st.integers(0, 1000))
def test_every_peak_and_dip_of_every_stretch_is_kept(seed):
    rng = np.random.default_rng(seed)
    curves = [rng.normal(size=3000), rng.normal(size=3000)]
    always = rng.random(3000) < 0.02
    shown = frames_shown(curves, always, 600)
    assert shown.size <= 600
    assert (np.diff(shown) > 0).all()
    assert np.isin(np.flatnonzero(always), shown).all()
    for curve in curves:
        assert {int(curve.argmax()), int(curve.argmin()), 0, 2999} <= set(shown.tolist())
        # The envelope of a coarse stretch is that of all frames.
        for begin in range(0, 3000, 500):
            inside = shown[(shown >= begin) & (shown < begin + 500)]
            assert curve[inside].max() >= np.sort(curve[begin : begin + 500])[-3]


def test_many_flagged_frames_leave_room_for_the_others():
    always = np.zeros(10_000, bool)
    always[1000:9000] = True
    curve = np.sin(np.arange(10_000) / 50)
    shown = frames_shown([curve], always, 500)
    assert shown.size <= 500
    assert {1000, 8999} <= set(shown.tolist())
    assert (shown < 1000).any()


def flags(text, n):
    packed = np.frombuffer(base64.b64decode(text), np.uint8)
    return np.unpackbits(packed, bitorder="little")[:n].astype(bool)


def test_frames_times_and_flags_are_those_of_the_run(result, views):
    done = []
    data = pack_series(result, views["mask"].film, result.events, lambda *step: done.append(step))
    n = result.numbers.size
    assert unpacked(data["frames"]) == result.numbers.tolist()
    np.testing.assert_allclose(np.array(unpacked(data["times"])) / 1e6, result.times, atol=1e-6)
    np.testing.assert_array_equal(flags(data["outliers"], n), result.table.outliers)
    assert set(data["curves"]) == {"error", "whole", "place", "foreground"}
    assert all(floats(curve).size == n for curve in data["curves"].values())
    assert data["cutoff"] == result.table.cutoff
    assert done[-1] == ("masks", n, n)


def test_without_errors_and_masks_there_are_no_curves(result):
    bare = replace(result, table=None)
    data = pack_series(bare, None, [], lambda *_: None)
    assert data["curves"] == {}
    assert data["cutoff"] is None
    assert data["change"] is None


def test_boxes_are_those_of_the_objects(result):
    boxes = pack_boxes(result)
    assert unpacked(boxes["tracks"]) == [seen.track for seen in result.objects]
    frames = result.numbers[unpacked(boxes["places"])].tolist()
    assert frames == [seen.frame for seen in result.objects]
    sides = floats(boxes["sides"]).reshape(-1, 4)
    np.testing.assert_allclose(sides, [seen.box for seen in result.objects])
    assert pack_boxes(replace(result, objects=[])) is None
    assert pack_boxes(replace(result, objects=result.objects[:1] * 40_001)) is None


def walk(track, frames, *, first=1):
    return [
        Observation(
            frame=first + i,
            time_s=(first + i - 1) / 25,
            track=track,
            box=(i, 2 * i, 4, 4),
            cx=i + 2.0,
            cy=2.0 * i + 2,
            area=16,
            score=3.0,
            sign="brighter",
        )
        for i in range(frames)
    ]


def result_of(*walks, frames=20_000):
    seen = [each for walk in walks for each in walk]
    times = np.arange(frames) / 25
    return SimpleNamespace(objects=seen, times=times, region=(10, 20, 160, 120))


def points_of(track):
    return [point for _, points in track.pieces for point in points.split()]


class TestDrawTracks:
    def test_a_short_track_has_all_its_points_and_its_pieces_meet(self):
        (drawn,) = draw_tracks(result_of(walk(7, 30, first=5)))
        assert (drawn.number, drawn.frame, drawn.start) == (7, 5, (2.0, 2.0))
        assert drawn.label == "Track 7: frames 5 to 34"
        ends = [points.split() for _, points in drawn.pieces]
        assert all(left[-1] == right[0] for left, right in pairwise(ends))
        assert len(set(points_of(drawn))) == 30

    def test_tracks_come_by_number_and_the_longest_ones_where_they_are_many(self):
        walks = [walk(number, 2 + number % 5) for number in range(400, 0, -1)]
        drawn = draw_tracks(result_of(*walks))
        numbers = [track.number for track in drawn]
        assert numbers == sorted(numbers)
        assert len(numbers) == 300
        assert all(number in numbers for number in range(4, 401, 5))

    def test_a_long_track_is_thinned_and_keeps_its_ends(self):
        (drawn,) = draw_tracks(result_of(walk(1, 15_000)))
        points = points_of(drawn)
        assert len(points) < 9_020
        assert (points[0], points[-1]) == ("2.0,2.0", "15001.0,30000.0")

    def test_colours_follow_the_time(self):
        early, late = walk(1, 3), walk(2, 3, first=19_990)
        first, second = draw_tracks(result_of(early, late))
        assert first.pieces[0][0] == time_color(0.04 * 1 / 799.96)
        assert second.pieces[0][0] not in {time_color(0), first.pieces[0][0]}


def test_without_a_background_the_page_says_which_frame_tracks_are_drawn_over(reported, tmp_path):
    folder = shutil.copytree(reported, tmp_path / "r")
    words = "the run wrote no picture of the empty scene"
    assert words not in make_page(folder, load_manifest(folder), folder / "p.html").html
    for name in ("background.png", "background.mp4"):
        (folder / name).unlink()
    assert words not in make_page(folder, load_manifest(folder), folder / "p.html").html
    (folder / "model.npz").unlink()  # which knew the empty scene, too
    html = make_page(folder, load_manifest(folder), folder / "p.html").html
    assert re.search(rf"Drawn over frame \d+: {words}", html)
