"""The page as `bgsub view` serves it: videos seek by ranges, and pixels can be read."""

import threading

import pytest

from bgsub.page.server import FolderServer

pytestmark = pytest.mark.browser

READ = """async (view) => {
    const video = document.querySelector(`#view-${view} video`);
    const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
    canvas.getContext("2d").drawImage(video, 0, 0);
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    let found = 0;
    for (let bit = 0; bit < 10; bit += 1) {
        if (data[4 * ((height - 8) * width + 16 * bit + 8)] > 128) found |= 1 << bit;
    }
    return found;
}"""


def test_served_videos_show_the_frames_that_are_asked_for(results, open_page):
    with FolderServer(results, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            opened = open_page(server.address, mark="#frame-100")
            for number in (100, 17, 163):
                opened.tab.evaluate("number => { location.hash = `frame-${number}`; }", number)
                opened.settle(number)
                for view in ("input", "background"):
                    assert opened.tab.evaluate(READ, view) == number
            assert all(url.startswith((server.address, "data:")) for url in opened.requests)
        finally:
            server.shutdown()
            thread.join()
