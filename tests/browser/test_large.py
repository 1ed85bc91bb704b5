"""A page of 100,000 frames and 1,000 events opens, seeks and is read as quickly as a small one."""

import pytest

from bgsub.page.pages import encode_page, make_page
from tests.page.long_results import write_film, write_long_results

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def large(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("large") / "results"
    manifest = write_long_results(results, folder, frames=100_000, events=1_000)
    write_film(folder / "input.mp4", 100_000)
    write_film(folder / "mask.mp4", 100_000, noise=0)
    path = folder / "report.html"
    path.write_bytes(encode_page(make_page(folder, manifest, path).html))
    return path


def test_it_is_small_and_paints_soon(large, first_paint):
    assert large.stat().st_size <= 5_000_000
    assert first_paint(large) < 2000


def test_frames_far_apart_are_shown_at_once(large, open_page):
    opened = open_page(large)
    for number in (1, 99_999, 50_000, 23):
        opened.tab.evaluate("number => { location.hash = `frame-${number}`; }", number)
        opened.settle(number)
        stripes = (number - 1) % 10 + 1
        assert opened.number_on_screen(wanted=stripes) == stripes


def test_its_table_is_sorted(large, open_page):
    opened = open_page(large)
    button = opened.tab.locator("#event-table th", has_text="Start").get_by_role("button")
    button.click()
    button.click()
    rows = opened.tab.locator("#event-table tbody tr")
    assert rows.count() == 1000
    assert rows.first.get_attribute("id") == "event-1000"
