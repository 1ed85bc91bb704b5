"""A Gram matrix that others sum up is that of one process, to the bit."""

import numpy as np
import pytest

from bgsub.cluster.gram import SharedFrames, cluster_gram, write_frames
from bgsub.errors import InputError, OutputError
from bgsub.robustpca.gram import gram_matrix


class Frames:
    """A matrix that is read by columns."""

    dtype = np.dtype(np.uint8)

    def __init__(self, values):
        self._values = values
        self.shape = values.shape

    def columns(self, start, stop):
        return self._values[:, start:stop]


class Workers:
    """A pool that does tasks at once, the last one first."""

    def __init__(self, spoil=lambda reply: reply):
        self._spoil = spoil

    def do(self, tasks):
        for place in reversed(range(len(tasks))):
            task = tasks[place]
            yield place, self._spoil(task.function(*task.arguments))


@pytest.fixture
def frames():
    return Frames(np.random.default_rng(3).integers(0, 256, (23, 700), dtype=np.uint8))


def nothing(*_):
    pass


def test_tiles_make_the_matrix_of_one_process_and_leave_nothing_behind(frames, tmp_path):
    told = []
    make = cluster_gram(Workers(), tmp_path, rows=7)
    ours = make(frames, threads=1, progress=lambda *step: told.append(step), apart=())
    theirs = gram_matrix(frames, threads=1)
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.offset, theirs.offset)
    assert told[-1] == (700, 700)
    assert list(tmp_path.iterdir()) == []


def test_few_frames_are_summed_here(frames, tmp_path):
    def refuse(_):
        raise AssertionError("a task was handed out")

    make = cluster_gram(Workers(refuse), tmp_path, rows=23)
    ours = make(frames, threads=1, progress=nothing, apart=())
    np.testing.assert_array_equal(ours.values, gram_matrix(frames, threads=1).values)


def test_a_tile_that_fails_is_an_error_and_leaves_nothing_behind(frames, tmp_path):
    make = cluster_gram(Workers(lambda _: MemoryError("2 GiB")), tmp_path, rows=7)
    with pytest.raises(Exception, match=r"a tile of the Gram matrix failed on a worker \(Memory"):
        make(frames, threads=1, progress=nothing, apart=())
    assert list(tmp_path.iterdir()) == []


def test_a_tile_that_is_gone_is_an_output_that_cannot_be_written(frames, tmp_path):
    make = cluster_gram(Workers(lambda _: "none.f8"), tmp_path, rows=7)
    with pytest.raises(OutputError, match="cannot be written"):
        make(frames, threads=1, progress=nothing, apart=())


def test_frames_that_are_cut_off_name_their_file(frames, tmp_path):
    shared, medians = write_frames(frames, tmp_path)
    np.testing.assert_array_equal(medians, np.sort(frames.columns(0, 700), axis=0)[11])
    path = tmp_path / "frames.u1"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"frames\.u1: is cut off; do all workers see the same"):
        list(SharedFrames(shared.folder, 23, 700, shared.step).blocks((slice(0, 7), slice(14, 23))))
