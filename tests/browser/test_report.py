"""The page of a result in a real browser: it shows exactly what is asked for."""

import json
from itertools import pairwise

import cv2
import numpy as np
import pytest

from bgsub.page.pages import encode_page, make_page
from bgsub.pipeline.results import load_manifest
from bgsub.pipeline.run import run
from bgsub.tracking.feedback import read_choice
from tests.browser.conftest import N, encode, make_numbered

pytestmark = pytest.mark.browser

VIEWS = ("input", "background", "foreground", "mask")


@pytest.fixture
def report(results):
    return results / "report.html"


@pytest.fixture(scope="session")
def events(results):
    return json.loads((results / "events.json").read_text())["events"]


def nearest(shot, pictures, near):
    """The place of the picture that looks most like a shot, among those around a place."""
    size = shot.shape[1::-1]
    places = range(max(0, near - 3), min(len(pictures), near + 4))
    shown = [cv2.resize(pictures[place], size, interpolation=cv2.INTER_LINEAR) for place in places]
    return places[int(np.argmin([np.abs(shot.astype(int) - each).mean() for each in shown]))]


class TestOpening:
    def test_from_a_disk_it_asks_for_its_videos_alone(self, open_page, report, results):
        opened = open_page(report)
        opened.tab.wait_for_timeout(300)
        allowed = {(results / f"{view}.mp4").as_uri() for view in VIEWS} | {report.as_uri()}
        asked = {url for url in opened.requests if not url.startswith("data:image/webp")}
        assert asked <= allowed

    def test_it_paints_soon(self, first_paint, report):
        assert first_paint(report) < 2000

    def test_no_foreign_code_runs(self, browser, report):
        tab = browser.new_page()
        tab.goto(report.as_uri())
        refused = []
        tab.on("console", lambda message: refused.append(message.text))
        tab.evaluate("""() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            const image = document.createElement("img");
            image.setAttribute("onerror", "window.ran = true");
            image.src = "https://example.com/x.png";
            document.body.append(image);
        }""")
        tab.wait_for_timeout(200)
        assert tab.evaluate("window.ran === undefined")
        assert len(refused) >= 2
        assert all("Content Security Policy" in text for text in refused if "ERR_" not in text)
        tab.close()


class TestFrames:
    def test_clicking_an_event_shows_its_peak_in_all_views(
        self, open_page, report, results, events, decoded
    ):
        opened = open_page(report)
        films = {view: decoded(results / f"{view}.mp4") for view in VIEWS}
        assert len(events) == 3
        for event in events:
            peak = event["peak_frame"]
            opened.tab.get_by_role("link", name=f"Event {event['number']}", exact=True).click()
            opened.settle(peak)
            assert opened.number_on_screen("input") == peak
            assert opened.number_on_screen("background") == peak
            for view in VIEWS:
                assert nearest(opened.shot(view), films[view], peak - 1) == peak - 1, view

    @pytest.mark.parametrize("number", [1, 2, 50, 51, N - 1, N])
    def test_an_address_shows_its_frame(self, open_page, report, number):
        opened = open_page(report, mark=f"#frame-{number}")
        opened.settle(number)
        assert (number, opened.number_on_screen()) == (number, number)
        assert opened.tab.locator("#readout").inner_text().startswith(f"Frame {number} ·")

    def test_every_frame_of_a_stretch_is_reached(self, open_page, report):
        opened = open_page(report, mark="#frame-30")
        for number in range(31, 46):
            opened.tab.keyboard.press("ArrowRight")
            opened.settle(number)
            assert (number, opened.number_on_screen()) == (number, number)

    def test_a_film_itself_with_b_frames_a_gap_and_uneven_times(
        self, open_page, tmp_path, mask_image, options
    ):
        times = np.cumsum(np.where(np.arange(N) % 3 == 0, 0.051, 0.033))
        times[60:] += 2.5
        film = tmp_path / "film #1 & <b>.mp4"
        encode(make_numbered(), film, times - times[0])
        chosen = options(outputs={"mask", "errors"}, mask_image=mask_image, start=3, every=2)
        result = run(film, tmp_path / "out", chosen)
        path = result.out / "page.html"
        path.write_bytes(
            encode_page(make_page(result.out, result.manifest, path, footage=str(film)).html)
        )
        opened = open_page(path)
        for number in (3, 59, 61, 63, 91, 189):
            opened.tab.evaluate("number => { location.hash = `frame-${number}`; }", number)
            opened.settle(number)
            assert (number, opened.number_on_screen()) == (number, number)

    def test_the_timeline_is_clicked(self, open_page, report):
        opened = open_page(report)
        over = opened.tab.locator("#charts .u-over").first
        box = over.bounding_box()
        over.click(position={"x": box["width"] * (80 - 1) / (N - 1), "y": box["height"] / 2})
        opened.tab.wait_for_function("() => location.hash !== ''")
        number = opened.tab.evaluate("model.numbers[current]")
        assert abs(number - 80) <= 1
        opened.settle(number)
        assert (number, opened.number_on_screen()) == (number, number)

    def test_times_of_the_timeline_are_those_of_a_clock(self, open_page, report):
        opened = open_page(report)
        shown = opened.tab.evaluate("[0, 61.25, 59.96, 1199.96, 3599.96, 86399.94].map(shortClock)")
        assert shown == ["0:00", "1:01.3", "1:00", "20:00", "1:00:00", "23:59:59.9"]

    def test_fast_wishes_end_at_the_last_one(self, open_page, report):
        opened = open_page(report)
        opened.tab.evaluate("for (let i = 0; i < 100; i += 7) select(i)")
        opened.settle(99)
        assert opened.number_on_screen() == 99


class TestPlaying:
    def test_space_plays_in_step_and_stops_at_one_frame(self, open_page, report):
        opened = open_page(report, mark="#frame-5")
        opened.settle(5)
        opened.tab.keyboard.press(" ")
        opened.tab.wait_for_function("() => current > 20")
        places = opened.tab.evaluate("VIEWS.map((view) => films[view].shown)")
        assert max(places) - min(places) <= 4
        assert opened.tab.locator("#play").inner_text() == "Pause"
        opened.tab.keyboard.press(" ")
        number = opened.tab.evaluate("model.numbers[current]")
        opened.settle(number)
        assert opened.number_on_screen("input") == opened.number_on_screen("background") == number

    def test_it_stops_at_the_end_and_begins_again(self, open_page, report):
        opened = open_page(report, mark=f"#frame-{N - 5}")
        opened.settle(N - 5)
        opened.tab.locator("#speed").select_option("2")
        opened.tab.locator("#play").click()
        opened.tab.wait_for_function("() => !isPlaying")
        opened.settle(N)
        opened.tab.locator("#play").click()
        opened.tab.wait_for_function("() => current > 2 && current < 60")

    def test_it_stops_at_the_end_where_the_browser_has_no_word_of_the_last_picture(
        self, open_page, report
    ):
        opened = open_page(report, mark=f"#frame-{N - 5}")
        opened.settle(N - 5)
        opened.tab.evaluate("HTMLVideoElement.prototype.requestVideoFrameCallback = () => 0")
        opened.tab.locator("#play").click()
        opened.tab.wait_for_function("() => !isPlaying")
        assert opened.tab.evaluate("model.numbers[current]") == N


class TestKeys:
    def test_events_and_frames(self, open_page, report, events):
        opened = open_page(report, mark="#frame-1")
        press = opened.tab.keyboard.press
        peaks = [event["peak_frame"] for event in events]
        for peak in peaks:
            press("n")
            opened.settle(peak)
        press("n")
        press("p")
        opened.settle(peaks[-2])
        press("ArrowLeft")
        opened.settle(peaks[-2] - 1)
        assert opened.tab.evaluate("location.hash") == f"#frame-{peaks[-2] - 1}"

    def test_views(self, open_page, report):
        opened = open_page(report)
        for key, view in zip("1234", VIEWS, strict=True):
            opened.tab.keyboard.press(key)
            seen = [v for v in VIEWS if opened.tab.locator(f"#view-{v}").is_visible()]
            assert seen == [view]
        opened.tab.keyboard.press("0")
        assert all(opened.tab.locator(f"#view-{view}").is_visible() for view in VIEWS)

    def test_letters_typed_into_a_field_are_no_commands(self, open_page, report):
        opened = open_page(report, mark="#frame-7")
        field = opened.tab.locator("#number")
        field.fill("44")
        field.press("Enter")
        opened.settle(44)
        field.press("1")
        assert opened.tab.locator("#view-mask").is_visible()

    def test_all_is_reached_with_the_keyboard_alone(self, open_page, report):
        opened = open_page(report)
        reached = set()
        for _ in range(60):
            opened.tab.keyboard.press("Tab")
            reached.add(
                opened.tab.evaluate(
                    "document.activeElement.id || document.activeElement.textContent.trim()"
                )
            )
        assert {"play", "back", "forward", "next-event", "speed", "number", "slider"} <= reached
        assert {"Skip to the events", "Event 1", "Score", "Mask"} <= reached

    def test_the_slider_moves_frame_by_frame(self, open_page, report):
        opened = open_page(report, mark="#frame-9")
        opened.tab.locator("#slider").focus()
        opened.tab.keyboard.press("ArrowRight")
        opened.settle(10)
        assert opened.number_on_screen() == 10


class TestTables:
    def test_a_heading_sorts(self, open_page, report, events):
        opened = open_page(report)
        heading = opened.tab.locator("#event-table th", has_text="Seconds")
        ids = "[...document.querySelectorAll('#event-table tbody tr')].map((row) => row.id)"
        heading.get_by_role("button").click()
        by_length = sorted(events, key=lambda event: event["end_s"] - event["start_s"])
        wanted = [f"event-{event['number']}" for event in by_length]
        assert opened.tab.evaluate(ids) == wanted
        assert heading.get_attribute("aria-sort") == "ascending"
        heading.get_by_role("button").click()
        assert opened.tab.evaluate(ids) == wanted[::-1]

    def test_the_outline_and_boxes_are_over_the_input(self, open_page, report, events):
        peak = events[0]["peak_frame"]
        opened = open_page(report, mark=f"#frame-{peak}")
        opened.settle(peak)
        assert opened.tab.locator("#view-input svg rect.box").count() == 1
        opened.tab.locator("#boxes").uncheck()
        assert opened.tab.locator("#view-input svg rect").count() == 0
        plain = opened.tab.locator("#view-input .screenpiece").screenshot()
        opened.tab.locator("#outline").check()
        opened.tab.wait_for_function("() => films.outline && films.outline.shown === current")
        before = cv2.imdecode(np.frombuffer(plain, np.uint8), cv2.IMREAD_COLOR)
        for _ in range(100):  # what is decoded is not yet painted
            opened.tab.wait_for_timeout(100)
            drawn = opened.tab.locator("#view-input .screenpiece").screenshot()
            after = cv2.imdecode(np.frombuffer(drawn, np.uint8), cv2.IMREAD_COLOR)
            yellow = np.abs(after.astype(int) - (0, 212, 255)).max(axis=2) < 60
            if yellow.any():
                break
        assert yellow.mean() > 0.003
        assert np.abs(before.astype(int) - after).max(axis=2)[~yellow].mean() < 6


class TestForEverybody:
    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    @pytest.mark.parametrize("width", [1280, 390])
    def test_axe_finds_nothing(self, open_page, report, checker, width, dark):
        opened = open_page(report, mark="#event-1", width=width, dark=dark)
        opened.tab.locator("#outline").check()
        assert checker(opened) == []

    def test_a_narrow_screen_is_not_scrolled_sideways(self, open_page, report):
        opened = open_page(report, width=390, height=844)
        assert opened.tab.evaluate("document.documentElement.scrollWidth") <= 390

    def test_print_leaves_the_controls_out(self, open_page, report):
        opened = open_page(report)
        opened.tab.emulate_media(media="print")
        assert not opened.tab.locator("#play").is_visible()
        assert opened.tab.locator("#event-table").is_visible()

    def test_headings_follow_each_other(self, open_page, report):
        opened = open_page(report)
        levels = opened.tab.evaluate(
            "[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])"
        )
        assert levels.count(1) == 1
        assert all(two - one <= 1 for one, two in pairwise(levels))


class TestOtherPages:
    def test_a_preview_needs_no_other_file(self, open_page, results, tmp_path, events):
        path = tmp_path / "mail.html"
        page = make_page(results, load_manifest(results), path, standalone=True)
        path.write_bytes(encode_page(page.html))
        peak = events[1]["peak_frame"]
        opened = open_page(path, mark=f"#frame-{peak}")
        opened.settle(peak)
        assert opened.number_on_screen() == peak
        assert {url for url in opened.requests if not url.startswith("data:")} == {path.as_uri()}

    def test_events_that_are_checked_are_saved(self, open_page, results, tmp_path):
        tab = open_page(results / "report.html").tab
        assert not tab.locator("#save-not").is_visible()
        for number in (1, 3):
            tab.locator(f'input.not[value="{number}"]').check()
        with tab.expect_download() as download:
            tab.locator("#save-not").click()
        assert download.value.suggested_filename == "not-objects.json"
        download.value.save_as(tmp_path / "saved.json")
        assert read_choice(tmp_path / "saved.json") == [1, 3]

    def test_videos_that_are_gone_are_said_to_be(self, open_page, results, tmp_path):
        path = tmp_path / "moved.html"
        path.write_bytes((results / "report.html").read_bytes())
        opened = open_page(path)
        opened.tab.wait_for_selector("text=The video cannot be played")
        assert opened.tab.locator(".missing").count() == 4
        opened.tab.keyboard.press("ArrowRight")
        assert opened.tab.locator("#event-table").is_visible()
        opened.said[:] = [text for text in opened.said if "ERR_FILE_NOT_FOUND" not in text]

    def test_hostile_texts_stay_texts(self, open_page, results, tmp_path, checker):
        evil = "<img src=x onerror=alert(1)></script><script>alert(2)</script>'\"&amp; 水"
        manifest = load_manifest(results)
        source = {**manifest["input"], "name": evil, "path": evil}
        manifest = {**manifest, "input": source, "findings": [evil], "hints": [evil]}
        manifest["mask_states"] = []
        path = tmp_path / "a 'b' \"c\" <d> #e %41 水.html"
        path.write_bytes(encode_page(make_page(results, manifest, path).html))
        opened = open_page(path, mark="#frame-20")
        opened.settle(20)
        assert opened.tab.locator("h1").inner_text() == evil
        assert opened.tab.title() == f"{evil} · bgsub"
        assert opened.number_on_screen() == 20
        assert checker(opened) == []
