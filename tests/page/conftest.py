"""Results of a run with a page, and what is on that page."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from bgsub.options import DEFAULT_OUTPUTS
from bgsub.page.films import VIEWS, find_view
from bgsub.page.result import read_result
from bgsub.pipeline.run import run
from tests.conftest import make_options, make_scene


class PageReader(HTMLParser):
    """Collect tags with their attributes, and the texts within tags of each kind."""

    def __init__(self):
        super().__init__()
        self.tags, self.texts, self._open = [], {}, []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "input", "rect", "br"}:
            self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def read_page(html):
    reader = PageReader()
    reader.feed(html)
    reader.data = None
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    if found:
        reader.data = json.loads(found[1])
    return reader


@pytest.fixture
def reading():
    return read_page


@pytest.fixture(scope="session")
def reported(tmp_path_factory):
    """The folder of a run with a page, of a clip with a visitor. Tests leave it as it is."""
    folder = tmp_path_factory.mktemp("reported")
    np.save(folder / "clip.npy", make_scene())
    options = make_options(outputs=DEFAULT_OUTPUTS | {"report"}, seed=1)
    run(folder / "clip.npy", folder / "results", options)
    return folder / "results"


@pytest.fixture
def result(reported, manifest_of):
    """What the run says and wrote."""
    return read_result(reported, manifest_of(reported))


@pytest.fixture
def views(result):
    """What the page shows of each view."""
    return {view: find_view(result, view, None, None, lambda *_: None) for view in VIEWS}


@pytest.fixture
def films(views):
    """The film of each view."""
    return {view: shown.film for view, shown in views.items()}
