"""The server of a folder: ranges are right, nothing else is served, foreign names are refused."""

import http.client
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.page.server import FolderServer, parse_range

DATA = bytes(range(256)) * 40


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "results"
    (inside / "sub folder").mkdir(parents=True)
    (inside / "mask.mp4").write_bytes(DATA)
    (inside / "empty.csv").write_bytes(b"")
    (inside / "a #1 & 水.txt").write_text("odd name")
    (inside / "sub folder" / "report.html").write_text("below")
    (inside / ".hidden").write_text("secret")
    (inside / ".bgsub-partial-x").mkdir()
    (inside / ".bgsub-partial-x" / "mask.mp4").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "results2").mkdir()
    (tmp_path / "results2" / "secret.txt").write_text("secret")
    (inside / "out").symlink_to(tmp_path / "secret.txt")
    (inside / "up").symlink_to(tmp_path)
    (inside / "loop").symlink_to(inside / "loop")
    (inside / "within").symlink_to(inside / "mask.mp4")
    return inside


@pytest.fixture
def server(folder):
    served = FolderServer(folder, "127.0.0.1", 0, {"report.html": b"<p>made</p>"})
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served
    served.shutdown()
    thread.join()
    served.server_close()


@pytest.fixture
def ask(server):
    """Send a request as it is, and give status, headers and body."""

    def request(path, method="GET", host=None, **headers):
        connection = http.client.HTTPConnection(*server.server_address, timeout=10)
        connection.putrequest(method, path, skip_host=True)
        name = f"127.0.0.1:{server.server_address[1]}" if host is None else host
        if host != "":
            connection.putheader("Host", name)
        for key, value in headers.items():
            connection.putheader(key.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return found

    return request


def test_files_and_pages_are_served(ask):
    status, headers, body = ask("/mask.mp4")
    assert (status, body) == (200, DATA)
    assert headers["Content-Type"] == "video/mp4"
    assert headers["Accept-Ranges"] == "bytes"
    assert ask("/")[2] == ask("/report.html?x=1")[2] == b"<p>made</p>"
    assert ask("/sub%20folder/")[2] == b"below"
    assert ask("/a%20%231%20%26%20%E6%B0%B4.txt")[2] == b"odd name"
    assert ask("/within")[2] == DATA
    assert ask("/empty.csv")[::2] == (200, b"")


def test_a_head_has_no_body(ask):
    status, headers, body = ask("/mask.mp4", "HEAD")
    assert (status, headers["Content-Length"], body) == (200, str(len(DATA)), b"")


@pytest.mark.parametrize(
    ("asked", "begin", "end"),
    [
        ("bytes=0-9", 0, 10),
        ("bytes=100-", 100, None),
        ("bytes=-7", -7, None),
        ("bytes=5-99999", 5, None),
    ],
)
def test_ranges(ask, asked, begin, end):
    status, headers, body = ask("/mask.mp4", Range=asked)
    assert (status, body) == (206, DATA[begin:end])
    first = begin % len(DATA)
    assert headers["Content-Range"] == f"bytes {first}-{first + len(body) - 1}/{len(DATA)}"


def test_ranges_beyond_the_end_are_refused_and_others_ignored(ask):
    status, headers, _ = ask("/mask.mp4", Range=f"bytes={len(DATA)}-")
    assert (status, headers["Content-Range"]) == (416, f"bytes */{len(DATA)}")
    assert ask("/empty.csv", Range="bytes=0-")[0] == 416
    for asked in ("bytes=0-1,4-5", "rows=0-1", "bytes=9-3", "bytes=-", "nonsense"):
        assert ask("/mask.mp4", Range=asked)[::2] == (200, DATA)
    assert ask("/mask.mp4", Range="bytes=0-1", If_Range='"x"')[0] == 200


@given(st.one_of(st.text(), st.from_regex(r"bytes=[0-9]{0,4}-[0-9]{0,4}")), st.integers(0, 2000))
def test_any_range_lies_in_the_file(header, size):
    try:
        span = parse_range(header, size)
    except ValueError:
        return
    assert span is None or 0 <= span.start < span.stop <= size


def test_a_range_of_the_last_bytes():
    assert parse_range("bytes=-500", 100) == range(100)
    assert parse_range(None, 100) is None


OUTSIDE = [
    *("/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/sub%20folder/../../secret.txt"),
    *("/../results2/secret.txt", "/out", "/up/secret.txt", "/up/results2/secret.txt", "/loop"),
    *("/.hidden", "/.bgsub-partial-x/mask.mp4", "/..\\secret.txt", "/%00", "/" + "a" * 5000),
    *(
        "//etc/passwd",
        "/etc/passwd",
        "/%2Fetc%2Fpasswd",
        "/C:/secret.txt",
        "/sub%20folder",
        "/nowhere",
    ),
    *("http://127.0.0.1/../secret.txt", "http://[bad/", "/mask.mp4/", "/mask.mp4/x"),
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_is_served(ask, path):
    status, _, body = ask(path)
    assert status == 404
    assert b"secret" not in body
    assert b"root:" not in body


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost:{port}", ""],
)
def test_a_foreign_host_is_refused(ask, server, host):
    status, _, body = ask("/mask.mp4", host=host.format(port=server.server_address[1]))
    assert status in {400, 421}
    assert DATA[:50] not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_do_nothing(ask, folder, method):
    before = sorted(folder.iterdir())
    assert ask("/mask.mp4", method)[0] == 501
    assert sorted(folder.iterdir()) == before


def test_on_all_addresses_names_of_others_are_refused(folder):
    with FolderServer(folder, "0.0.0.0", 0) as served:
        port = served.server_address[1]
        assert served.address == f"http://127.0.0.1:{port}/"
        assert served.knows(f"192.168.3.4:{port}")
        assert served.knows(f"localhost:{port}")
        assert not served.knows(f"evil.example:{port}")
        assert not served.knows("192.168.3.4:1")
        assert not served.knows("[::bad")


def test_many_at_the_same_time(ask):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(ask("/mask.mp4")[2])) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [DATA] * 20
