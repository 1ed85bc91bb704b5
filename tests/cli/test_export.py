"""``bgsub export`` on the results of one small run."""

from bgsub.cli import results
from bgsub.export.formats import FORMATS
from bgsub.pipeline.run import run
from tests.conftest import make_options


def test_an_export_is_written_once_and_replaced_when_asked(made, invoke, tmp_path):
    path = tmp_path / "new" / "gt.txt"
    result = invoke("export", made / "results", "--to", "mot", "-o", path)
    assert result.exit_code == 0, result.stderr
    assert len(path.read_text().splitlines()) == 16
    again = invoke("export", made / "results", "--to", "mot", "-o", path)
    assert again.exit_code == 5
    assert "--force" in again.stderr
    assert invoke("export", made / "results", "--to", "mot", "-o", path, "--force").exit_code == 0
    assert [p.name for p in path.parent.iterdir()] == ["gt.txt"]


def test_an_export_that_cannot_be_leaves_nothing(made, invoke, tmp_path):
    bare = tmp_path / "bare"
    run(made / "clip.npy", bare, _errors_alone())
    result = invoke("export", bare, "--to", "via", "-o", tmp_path / "x" / "t.csv")
    assert result.exit_code == 3
    assert "run it again without --only" in result.stderr
    assert not (tmp_path / "x" / "t.csv").exists()
    # The rate of an array is not known, and the format cannot do without.
    result = invoke("export", made / "results", "--to", "megadetector", "-o", tmp_path / "m.json")
    assert result.exit_code == 2
    assert not (tmp_path / "m.json").exists()


def test_a_film_is_told_from_results(made, invoke, tmp_path):
    large = tmp_path / "large.avi"
    large.write_bytes(bytes(5_000_000))
    for film in (made / "clip.npy", large):
        result = invoke("export", film, "--to", "mot", "-o", tmp_path / "gt.txt")
        assert result.exit_code == 3
        (line,) = result.stderr.splitlines()
        assert "is no folder of results, and no run.json; name the one that bgsub run wrote" in line
    assert not (tmp_path / "gt.txt").exists()


def _errors_alone():
    return make_options(outputs={"errors"})


def test_every_format_of_the_help_can_be_written():
    assert set(results.FORMATS) == set(FORMATS)


def test_a_project_is_named_after_its_film(made, invoke, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    done = invoke("export", made / "results", "--to", "lossless-cut", "-o", folder)
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in folder.iterdir()] == ["clip-proj.llc"]
    beside = invoke("export", made / "results", "--to", "lossless-cut")
    assert beside.stderr.rstrip() == f"{made / 'clip-proj.llc'} is written"
    (made / "clip-proj.llc").unlink()
    missing = invoke("export", made / "results", "--to", "via")
    assert (missing.exit_code, "--out is missing" in missing.stderr) == (2, True)
