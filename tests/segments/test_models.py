"""Which of several models knows new footage best."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from bgsub.cli import cli
from bgsub.errors import InputError
from bgsub.segments.run import choose_model, models_in, run
from tests.conftest import make_options, make_scene


def scenes():
    """A bright and a dark state of one scene, 50 frames each."""
    frames = make_scene(100, visit=100)
    frames[50:] = (0.4 * frames[50:]).astype(np.uint8)
    return frames


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    np.save(folder / "film.npy", scenes())
    np.save(folder / "dark.npy", scenes()[60:85])
    np.save(folder / "bright.npy", scenes()[10:35])
    chosen = make_options(segment=50, fps=5, outputs={"model"}, model="paper")  # the change lasts
    run(folder / "film.npy", folder / "out", chosen)
    return folder


def test_models_are_found_in_results_and_in_their_own_folder(made):
    names = [path.name for path in models_in(made / "out")]
    assert names == ["0001.npz", "0002.npz"]
    assert models_in(made / "out" / "models") == models_in(made / "out")
    assert models_in(made) == []


@pytest.mark.parametrize(("footage", "name"), [("bright", "0001.npz"), ("dark", "0002.npz")])
def test_the_model_of_the_same_state_is_chosen(made, footage, name):
    chosen = choose_model(models_in(made / "out"), made / f"{footage}.npy", make_options())
    assert chosen.name == name


def test_footage_of_another_size_is_refused(made, save):
    path = save(make_scene(30, 40, 40))
    with pytest.raises(InputError, match="size"):
        choose_model(models_in(made / "out"), path, make_options())


def test_the_command_takes_the_folder_and_says_which_it_uses(made, tmp_path):
    arguments = ["apply", made / "out", made / "dark.npy", "--only", "errors", "--out", tmp_path]
    result = CliRunner().invoke(cli, [str(each) for each in arguments])
    assert result.exit_code == 0, result.stderr
    assert "0002.npz leaves the least" in result.stderr
    assert (tmp_path / "errors.csv").is_file()
