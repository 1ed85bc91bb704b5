import pytest

from bgsub.cluster import pool
from bgsub.cluster.pool import connect
from bgsub.errors import UsageError


@pytest.mark.parametrize(
    "address",
    ["", "here", "local:", "local:0", "local:-1", "tcp://host", "host:8786", "http://a:1"],
)
def test_what_is_no_scheduler(address):
    refused = pytest.raises(UsageError, match=r"^--scheduler [^\n]*: must be tcp://HOST:PORT")
    with refused, connect(address):
        pass


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setattr(pool, "find_spec", lambda _: None)
    refused = pytest.raises(UsageError, match=r"needs Dask; `pip install dask distributed`")
    with refused, connect("local"):
        pass
