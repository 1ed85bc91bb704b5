"""One frame of each of equal stretches."""

import numpy as np
import pytest

from bgsub.video.selection import sample_rows


class TestSampleRows:
    def test_all_when_they_fit(self):
        assert sample_rows(5, 5, 0).tolist() == sample_rows(5, 9, 1).tolist() == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize(("n", "m"), [(2001, 2000), (20_000, 2000), (7, 3), (100, 99)])
    def test_one_of_each_stretch(self, n, m):
        rows = sample_rows(n, m, 5)
        assert rows.size == m
        assert (np.diff(rows) > 0).all()
        edges = np.arange(m + 1) * n / m
        assert ((rows >= np.floor(edges[:-1])) & (rows < edges[1:])).all()

    def test_the_seed_decides(self):
        assert np.array_equal(sample_rows(1000, 10, 1), sample_rows(1000, 10, 1))
        assert not np.array_equal(sample_rows(1000, 10, 1), sample_rows(1000, 10, 2))
