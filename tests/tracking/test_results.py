"""The tables of a folder, read from Python."""

import pytest

import bgsub
from bgsub.errors import InputError


@pytest.mark.parametrize("there", [[], ["objects.csv"]])
def test_a_folder_without_the_tables_says_what_writes_them(tmp_path, there):
    for name in there:
        (tmp_path / name).write_text("frame\n")
    with pytest.raises(InputError) as refused:
        bgsub.objects(tmp_path)
    missing = "tracks.csv" if there else "objects.csv"
    assert str(refused.value).startswith(f"{tmp_path}: holds no {missing}; bgsub run writes it")
    assert "bgsub objects" in str(refused.value)
