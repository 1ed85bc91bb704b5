import os
import socket

import pytest

from bgsub.errors import InputError
from bgsub.files import check_plain


def test_files_folders_links_and_what_is_missing_pass(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to("a")
    for path in (tmp_path, tmp_path / "a", tmp_path / "link", tmp_path / "none", "a/b"):
        check_plain(path)
    check_plain(tmp_path / "a" / "b")


@pytest.mark.skipif(os.name == "nt", reason="POSIX")
def test_pipes_devices_and_sockets_do_not(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    for path, kind in (
        (tmp_path / "pipe", "a pipe"),
        (tmp_path / "link", "a pipe"),
        ("/dev/null", "a device"),
        (tmp_path / "socket", "a socket"),
    ):
        with pytest.raises(InputError, match=f"is {kind} and no file"):
            check_plain(path)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "d/" * 3000])
def test_names_that_the_system_refuses(name):
    with pytest.raises(InputError, match="cannot be read") as caught:
        check_plain(name)
    assert len(str(caught.value)) < 200
