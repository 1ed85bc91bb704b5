"""What bgsub says of missing extras can be done where it is installed from."""

from importlib import metadata

import pytest

from bgsub.version import how_to_install


@pytest.mark.parametrize(
    ("extra", "names"),
    [
        ("zarr", "zarr"),
        ("cluster", "dask distributed"),
        ("export", "opentimelineio otio-cmx3600-adapter pycocotools tifffile"),
    ],
)
def test_libraries_are_named(extra, names):
    assert how_to_install(extra) == f"`pip install {names}`"


def test_from_a_source_that_is_not_installed(monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert how_to_install("zarr") == "`pip install '.[zarr]'` in the folder of its source"
