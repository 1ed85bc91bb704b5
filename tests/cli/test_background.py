"""The command that writes the empty scene."""

import numpy as np

from bgsub.video.images import read_image
from tests.pipeline.test_plate import film


def test_the_command_writes_pictures_without_loss(invoke, tmp_path):
    frames, place = film()
    np.save(tmp_path / "a.npy", frames[:, ::2, ::2, ::-1])
    out, seen = tmp_path / "plate.tif", tmp_path / "seen.png"
    result = invoke("background", tmp_path / "a.npy", "-o", out, "--coverage", seen)
    assert result.exit_code == 0, result.stderr
    assert np.abs(read_image(out).astype(int) - place[::2, ::2]).max() <= 12
    assert read_image(seen).dtype == np.uint16
    again = invoke("background", tmp_path / "a.npy", "-o", out)
    assert again.exit_code == 5
    assert "--force" in again.stderr
    assert invoke("background", tmp_path / "a.npy", "-o", tmp_path / "a.jpg").exit_code == 2


def test_coverage_counts_the_frames_of_all_states_or_of_each(invoke, tmp_path):
    day, by_day = film(12)
    night, by_night = film(6, seed=9)
    np.save(tmp_path / "a.npy", np.concatenate([day, night // 3])[:, ::2, ::2, ::-1])
    out, seen = tmp_path / "plate.png", tmp_path / "seen.png"
    result = invoke("background", tmp_path / "a.npy", "-o", out, "--coverage", seen)
    assert result.exit_code == 0, result.stderr
    assert read_image(seen)[2, 15] == 18  # by day and by night
    assert f"seen in {read_image(seen).min()} to 18 of 18 frames" in result.stderr
    arguments = ("background", tmp_path / "a.npy", "--per-state", "-o", out, "--coverage", seen)
    result = invoke(*arguments)
    assert [read_image(tmp_path / f"seen-{n}.png")[2, 15] for n in (1, 2)] == [12, 6]
    shown = [read_image(tmp_path / f"plate-{n}.png").astype(int) for n in (1, 2)]
    assert np.abs(shown[0] - by_day[::2, ::2]).mean() < 4
    assert np.abs(shown[1] - by_night[::2, ::2] // 3).mean() < 6
    assert "seen-2.png: background seen in" in result.stderr
    assert "6 of 6 frames" in result.stderr


def test_names_are_checked_before_anything_is_written(invoke, tmp_path):
    np.save(tmp_path / "a.npy", film(24)[0])
    out, seen = tmp_path / "plate.png", tmp_path / "seen.png"
    seen.touch()
    result = invoke("background", tmp_path / "a.npy", "-o", out, "--coverage", seen)
    assert result.exit_code == 5
    assert "seen.png: exists" in result.stderr
    assert not out.exists()
    (tmp_path / "seen-1.png").touch()
    both = ("--per-state", "--coverage", seen)
    result = invoke("background", tmp_path / "a.npy", "-o", out, *both)
    assert result.exit_code == 5
    assert "seen-1.png: exists" in result.stderr
    assert not list(tmp_path.glob("plate*"))
    result = invoke("background", tmp_path / "a.npy", "-o", out, "--coverage", out)
    assert result.exit_code == 2
    assert "choose another" in result.stderr
