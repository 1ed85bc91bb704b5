import io
import tracemalloc

import numpy as np
import pytest
from PIL import Image

from bgsub.errors import InputError
from bgsub.video.source import open_source
from tests.video.picture_files import by_tifffile


def animate(path, frames, **settings):
    pictures = [Image.fromarray(frame) for frame in frames]
    if path.suffix == ".webp":
        settings["lossless"] = True
    pictures[0].save(path, save_all=True, append_images=pictures[1:], **settings)
    return path


class TestAnimations:
    @pytest.mark.parametrize("suffix", [".webp", ".png"])
    def test_all_pictures_come_at_their_times(self, tmp_path, scene, suffix):
        shown = [40, 40, 100, 20, 40, 40]
        source = open_source(animate(tmp_path / f"a{suffix}", scene(6), duration=shown))
        assert (source.kind, source.rate, source.input_frames) == ("images", 25, 6)
        for _ in range(2):
            frames = list(source)
            np.testing.assert_array_equal([frame.image for frame in frames], scene(6))
            times = [frame.time_s for frame in frames]
            np.testing.assert_allclose(times, [0, 0.04, 0.08, 0.18, 0.2, 0.24])

    @pytest.mark.parametrize("suffix", [".webp", ".png"])
    def test_any_selection_and_order(self, tmp_path, scene, suffix):
        path = animate(tmp_path / f"a{suffix}", scene(6), duration=40)
        picked = list(open_source(path, start=2, every=2))
        assert [frame.number for frame in picked] == [2, 4, 6]
        np.testing.assert_array_equal(picked[1].image, scene(6)[3])
        source = open_source(path)
        for place in (4, 1, 5):
            np.testing.assert_array_equal(source[place].image, scene(6)[place])

    @pytest.mark.parametrize("suffix", [".webp", ".png"])
    def test_damage_is_said(self, tmp_path, scene, suffix):
        path = animate(tmp_path / f"a{suffix}", scene(6), duration=40)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(InputError, match=r"cut off or damaged"):
            list(open_source(path))


class TestStacks:
    def test_pages_are_read_one_by_one(self, tmp_path):
        path = tmp_path / "film.tif"
        frames = np.zeros((60, 500, 1000), np.uint8)
        frames[:] = np.arange(60, dtype=np.uint8)[:, None, None]
        path.write_bytes(by_tifffile(frames, photometric="minisblack"))
        tracemalloc.start()
        try:
            source = open_source(path)
            assert (source.kind, source.codec, source.input_frames) == ("array", "tiff", 60)
            assert [int(frame.luma[7, 7]) for frame in source] == list(range(60))
            assert tracemalloc.get_traced_memory()[1] < 20 * frames[0].size
        finally:
            tracemalloc.stop()

    def test_pages_of_another_kind_are_refused(self, tmp_path):
        import tifffile

        file = io.BytesIO()
        with tifffile.TiffWriter(file) as writer:
            writer.write(np.zeros((4, 5), np.uint8))
            writer.write(np.zeros((4, 6), np.uint8))
        (tmp_path / "a.tif").write_bytes(file.getvalue())
        with pytest.raises(
            InputError, match=r"a.tif: page 2 is uint8 of shape \(4, 6\), the first"
        ):
            open_source(tmp_path / "a.tif")

    def test_a_damaged_page_is_a_bad_frame(self, tmp_path, scene):
        path = tmp_path / "a.tif"
        data = bytearray(by_tifffile(scene(4, color=False), compression="zlib"))
        with Image.open(io.BytesIO(data)) as picture:
            picture.seek(2)
            (offset,) = picture.tag_v2[273]
        data[offset + 30 : offset + 60] = bytes(30)
        path.write_bytes(data)
        source = open_source(path)
        np.testing.assert_array_equal([frame.number for frame in source], [1, 2, 4])
        assert [bad.reason for bad in source.bad_frames] == ["the file is cut off or damaged"]


def test_a_picture_that_is_too_large_is_not_decoded_to_be_opened(tmp_path):
    Image.new("L", (9000, 9000)).save(tmp_path / "a.png", compress_level=1)
    tracemalloc.start()
    try:
        assert open_source(tmp_path / "a.png").input_size == (9000, 9000)
        assert tracemalloc.get_traced_memory()[1] < 9_000_000
    finally:
        tracemalloc.stop()
