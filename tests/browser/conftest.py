"""A headless browser, and results whose frames can be told apart by their pixels."""

from fractions import Fraction
from types import SimpleNamespace

import av
import cv2
import numpy as np
import pytest

from bgsub.options import DEFAULT_OUTPUTS
from bgsub.pipeline.run import run
from bgsub.video.images import write_image
from tests.browser.needs import FLAGS, find_browser, missing
from tests.conftest import make_options

WIDTH, HEIGHT, CELL = 160, 96, 16
VISITS = ((40, 56), (98, 110), (152, 166))
N = 190


def make_numbered(n=N):
    """A scene with visitors; below it, stripes write the number of the frame in binary."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(float)
    frames = []
    for i in range(n):
        gray = 120 + 20 * np.sin(x / 9) + 12 * np.cos(y / 6)
        frame = np.stack([gray, 30 + 0.7 * gray, 210 - 0.6 * gray], axis=-1)
        frame += rng.normal(0, 1.5, frame.shape)
        for first, last in VISITS:
            if first <= i + 1 <= last:
                left = 10 + 6 * (i + 1 - first)
                frame[24:52, left : left + 16] = (230, 60, 40)
        for bit in range(WIDTH // CELL):
            frame[-CELL:, bit * CELL : (bit + 1) * CELL] = 235 if (i + 1) >> bit & 1 else 20
        frames.append(np.clip(frame, 0, 255))
    return np.array(frames).astype(np.uint8)


def encode(frames, path, times=None):
    """A film with B-frames and, if times are given, of variable rate."""
    # Not two in a row: some builds of Chromium show a frame for as long as its packet lasts, and
    # the packet before a gap is then not the frame before it.
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "12", "bf": "1"})
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        for i, image in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts = round(1000 * (times[i] if times is not None else i / 25))
            frame.time_base = stream.codec_context.time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@pytest.fixture(scope="session")
def mask_image(tmp_path_factory):
    """The stripes with the numbers are left out of the fit, and stay as they are."""
    picture = np.full((HEIGHT, WIDTH), 255, np.uint8)
    picture[-CELL:] = 0
    path = tmp_path_factory.mktemp("mask") / "mask.png"
    write_image(path, picture)
    return str(path)


@pytest.fixture(scope="session")
def results(tmp_path_factory, mask_image):
    """The folder of a run with a page."""
    folder = tmp_path_factory.mktemp("browser")
    np.save(folder / "clip.npy", make_numbered())
    options = make_options(outputs=DEFAULT_OUTPUTS | {"report"}, mask_image=mask_image)
    run(folder / "clip.npy", folder / "results", options)
    return folder / "results"


@pytest.fixture(scope="session")
def browser():
    """Chromium; what is missing fails the tests, for they are only run when asked for."""
    if missing():
        pytest.fail(missing())
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=find_browser(), args=list(FLAGS))
        yield opened
        opened.close()


class Opened:
    """A page in the browser, with what it has said and asked for."""

    def __init__(self, tab):
        self.tab = tab
        self.number = 0
        self.said, self.requests = [], []
        tab.on("console", lambda message: self.said.append(message.text))
        tab.on("pageerror", lambda error: self.said.append(str(error)))
        tab.on("dialog", lambda dialog: (self.said.append("a dialog"), dialog.dismiss()))
        tab.on("request", lambda request: self.requests.append(request.url))

    def go(self, address):
        self.tab.goto(address)
        self.tab.wait_for_function("() => document.documentElement.dataset.ready === 'yes'")
        return self

    def settle(self, number):
        """Wait until all views show a frame."""
        self.tab.wait_for_function(
            """number => model.numbers[current] === number && !isPlaying && VIEWS.every((view) =>
            !films[view] || (films[view].chase === null && films[view].shown >= 0
                && films[view].placeOf(films[view].shown) === current))""",
            arg=number,
        )
        self.number = number
        self.tab.wait_for_timeout(60)  # the picture is on its way to the screen

    def shot(self, view):
        """What is on the screen of a view, in RGB."""
        data = self.tab.locator(f"#view-{view} video").first.screenshot()
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)

    def number_on_screen(self, view="input", wanted=None):
        """Read the number that the stripes write; on a busy machine it may be a while in coming."""
        wanted = self.number if wanted is None else wanted
        for _ in range(20):
            found = self._read_number(view)
            if found == wanted:
                break
            self.tab.wait_for_timeout(250)
        return found

    def _read_number(self, view):
        picture = self.shot(view).mean(axis=2)
        height, width = picture.shape
        row = picture[round(height * (1 - 0.5 * CELL / HEIGHT))]
        cells = [row[round((bit + 0.5) * CELL * width / WIDTH)] for bit in range(WIDTH // CELL)]
        return sum(1 << bit for bit, level in enumerate(cells) if level > 128)


@pytest.fixture
def open_page(browser):
    """Open a page; at its end nothing must have been said in its console."""
    opened = []

    def opener(path, *, mark="", width=1280, height=900, dark=False):
        scheme = "dark" if dark else "light"
        tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        opened.append(Opened(tab))
        address = path if str(path).startswith("http") else path.absolute().as_uri()
        return opened[-1].go(f"{address}{mark}")

    yield opener
    said = [each.said for each in opened]
    for each in opened:
        each.tab.close()
    assert not any(said), said


@pytest.fixture
def first_paint(open_page):
    """Milliseconds until a page is seen, the best of three: the machine has other work, too."""

    def measure(path):
        # A page can be ready before the browser has told when it was painted.
        paint = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
        return min(open_page(path).tab.wait_for_function(paint).json_value() for _ in range(3))

    return measure


@pytest.fixture(scope="session")
def decoded():
    """All pictures of a video in RGB."""

    def read(path):
        with av.open(str(path)) as container:
            return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]

    return read


@pytest.fixture(scope="session")
def checker():
    """Run axe-core on a page and give what it finds."""
    from axe_playwright_python.sync_playwright import Axe

    def check(opened):
        found = Axe().run(opened.tab).response["violations"]
        return [
            SimpleNamespace(rule=each["id"], where=[node["target"] for node in each["nodes"]][:4])
            for each in found
        ]

    return check
