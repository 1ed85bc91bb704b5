"""The list of several results: sorted, filtered, and linked to each page."""

import json
import shutil

import pytest
from click.testing import CliRunner

from bgsub.cli import cli

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def index(results, tmp_path_factory):
    """Three results, one of them in a folder whose name is an attack."""
    folder = tmp_path_factory.mktemp("batch")
    for name in ("monday", "tuesday #2", "<img src=x onerror=alert(1)> & 水"):
        path = shutil.copytree(results, folder / name) / "run.json"
        facts = json.loads(path.read_text(encoding="utf-8"))
        facts["hints"] = ["the whole picture moves"] if name == "monday" else []
        facts["input"]["name"] = f"{name}.npy"
        path.write_text(json.dumps(facts), encoding="utf-8")
    done = CliRunner().invoke(cli, ["report", str(folder)])
    assert done.exit_code == 0, done.stderr
    return folder / "report.html"


def shown(opened):
    return opened.tab.locator("#inputs tbody tr:visible").count()


def test_rows_are_filtered_by_words_and_warnings(index, open_page):
    opened = open_page(index)
    assert shown(opened) == 3
    opened.tab.get_by_label("Find").fill("MONDAY moves")
    assert shown(opened) == 1
    assert opened.tab.locator("#count").inner_text() == "1 of 3 shown"
    opened.tab.get_by_label("Find").fill("")
    opened.tab.get_by_label("With warnings only").check()
    assert shown(opened) == 1
    opened.tab.get_by_label("With warnings only").uncheck()
    opened.tab.get_by_label("With events only").check()
    assert shown(opened) == 3


def test_rows_are_sorted(index, open_page):
    opened = open_page(index)
    opened.tab.get_by_role("button", name="Warnings").click()
    last = opened.tab.locator("#inputs tbody tr").last
    assert last.locator("th a").inner_text() == "monday.npy"


def test_each_page_is_reached(index, open_page):
    opened = open_page(index)
    hrefs = opened.tab.eval_on_selector_all(
        "#inputs th a", "(links) => links.map((link) => link.href)"
    )
    assert len(hrefs) == 3
    for href in hrefs:
        opened.go(f"{href}#frame-31")
        opened.settle(31)
        assert opened.number_on_screen() == 31


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(index, open_page, checker, width, dark):
    opened = open_page(index, width=width, dark=dark)
    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert checker(opened) == []
