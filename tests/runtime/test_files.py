"""Temporary names: unguessable, cleared up after a kill, and never at the cost of others."""

import os
import socket
import stat
import subprocess
import sys
import threading

import pytest

from bgsub.errors import InputError, OutputError
from bgsub.runtime import files
from bgsub.runtime.files import (
    PREFIX,
    abandoned,
    alone_in,
    check_plain,
    make_file,
    make_folder,
    read_json,
    write_file,
    write_in,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="locks and links of POSIX")

_MAKE_AND_DIE = """
import os, sys
from pathlib import Path
from bgsub.runtime.files import alone_in, make_file, make_folder
with alone_in(Path(sys.argv[1])):
    make_file(Path(sys.argv[1]))
    (make_folder(Path(sys.argv[1])).path / "data").write_bytes(b"1")
os.kill(os.getpid(), 9)
"""


def leave_behind(folder):
    subprocess.run([sys.executable, "-c", _MAKE_AND_DIE, str(folder)], check=False)
    return sorted(folder.glob(f"{PREFIX}*"))


class TestLeftovers:
    def test_of_a_killed_process_are_found_and_those_at_work_are_not(self, tmp_path):
        left = leave_behind(tmp_path)
        assert len(left) == 2
        with alone_in(tmp_path) as is_alone:
            assert is_alone
            mine = [make_file(tmp_path), make_folder(tmp_path)]
            found = list(abandoned(tmp_path))
            assert [claim.path for claim in found] == left
            assert list(abandoned(tmp_path)) == []  # they are claimed by now
        for claim in found:
            claim.remove()
        assert sorted(tmp_path.iterdir()) == sorted(claim.path for claim in mine)
        for claim in mine:
            claim.remove()
        assert list(tmp_path.iterdir()) == []

    def test_links_and_pipes_of_that_name_are_none(self, tmp_path):
        (tmp_path / "mine").mkdir()
        (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "mine")
        os.mkfifo(tmp_path / f"{PREFIX}pipe")
        with alone_in(tmp_path):
            assert list(abandoned(tmp_path)) == []

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    def test_those_of_another_user_are_left_alone(self, tmp_path):
        for path in leave_behind(tmp_path):
            os.chown(path, 12345, 12345)
        with alone_in(tmp_path):
            assert list(abandoned(tmp_path)) == []

    def test_only_one_at_a_time_is_alone(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files, "_PATIENCE_S", 0.05)
        with alone_in(tmp_path) as first, alone_in(tmp_path) as second:
            assert first
            assert not second


class TestWriteFile:
    def test_replaces_a_plain_file_and_keeps_its_permissions(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_bytes(b"old")
        path.chmod(0o604)
        write_file(path, b"new")
        assert path.read_bytes() == b"new"
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
        assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]

    def test_a_new_file_has_the_permissions_that_any_would_have(self, tmp_path):
        (tmp_path / "other").write_bytes(b"")
        write_file(tmp_path / "a.csv", b"new")
        expected = stat.S_IMODE((tmp_path / "other").stat().st_mode)
        assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == expected

    def test_a_failed_write_leaves_the_old_file_and_no_other(self, tmp_path, monkeypatch):
        path = tmp_path / "a.csv"
        path.write_bytes(b"old")

        def fail(_descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OutputError, match=r"a\.csv: cannot be written \(No space left"):
            write_file(path, b"new")
        assert path.read_bytes() == b"old"
        assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]

    def test_planted_links_under_guessable_names_are_not_followed(self, tmp_path):
        victim = tmp_path / "victim"
        victim.write_bytes(b"precious")
        for pid in (os.getpid(), os.getpid() + 1):
            (tmp_path / f".bgsub-partial-{pid}-a.csv").symlink_to(victim)
        write_file(tmp_path / "a.csv", b"new")
        assert victim.read_bytes() == b"precious"
        assert not (tmp_path / "a.csv").is_symlink()

    def test_a_link_is_written_through(self, tmp_path):
        (tmp_path / "target").write_bytes(b"old")
        (tmp_path / "a.csv").symlink_to("target")
        write_file(tmp_path / "a.csv", b"new")
        assert (tmp_path / "a.csv").is_symlink()
        assert (tmp_path / "target").read_bytes() == b"new"

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    def test_a_link_of_another_user_is_not(self, tmp_path):
        (tmp_path / "target").write_bytes(b"old")
        (tmp_path / "a.csv").symlink_to("target")
        os.lchown(tmp_path / "a.csv", 12345, 12345)
        with pytest.raises(OutputError, match="a link that another user made"):
            write_file(tmp_path / "a.csv", b"new")
        assert (tmp_path / "target").read_bytes() == b"old"

    def test_a_pipe_is_written_through(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        read = []
        reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
        reader.start()
        write_file(tmp_path / "pipe", b"new")
        reader.join()
        assert read == [b"new"]
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)

    def test_a_device_stays_one(self, tmp_path):
        link = tmp_path / "null"
        link.symlink_to(os.devnull)
        write_file(link, b"new")
        assert stat.S_ISCHR(link.stat().st_mode)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
    def test_a_device_is_written_through(self, tmp_path):
        try:
            os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            (tmp_path / "null").write_bytes(b"")
        except OSError:
            pytest.skip("devices cannot be made here")
        write_file(tmp_path / "null", b"new")
        assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)

    def test_leftover_files_are_cleared_up_and_folders_stay(self, tmp_path):
        leave_behind(tmp_path)
        write_file(tmp_path / "a.csv", b"new")
        left = [p for p in tmp_path.iterdir() if p.name != "a.csv"]
        assert [p.is_dir() for p in left] == [True]

    def test_a_folder_of_that_name_is_refused(self, tmp_path):
        (tmp_path / "a.csv").mkdir()
        with pytest.raises(OutputError, match="cannot be written"):
            write_file(tmp_path / "a.csv", b"new")


class TestWriteIn:
    def test_replaces_a_plain_file(self, tmp_path):
        (tmp_path / "a.png").write_bytes(b"old")
        write_in(tmp_path, "a.png", b"new")
        assert (tmp_path / "a.png").read_bytes() == b"new"

    def test_writes_through_nothing(self, tmp_path):
        (tmp_path / "victim").write_bytes(b"precious")
        (tmp_path / "a.png").symlink_to("victim")
        (tmp_path / "b.png").symlink_to("nowhere")
        os.mkfifo(tmp_path / "c.png")
        for name in ("a.png", "b.png", "c.png"):
            with pytest.raises(OutputError, match=f"{name}: is not a plain file"):
                write_in(tmp_path, name, b"new")
        assert (tmp_path / "victim").read_bytes() == b"precious"


def test_files_folders_links_and_what_is_missing_pass(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to("a")
    for path in (tmp_path, tmp_path / "a", tmp_path / "link", tmp_path / "none", "a/b"):
        check_plain(path)
    check_plain(tmp_path / "a" / "b")


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


def test_a_file_that_is_no_text_is_named_and_not_printed(tmp_path):
    path = tmp_path / "list.json"
    path.write_bytes(b"\xff" * 9999)
    with pytest.raises(InputError, match=r"is no list of events .*; make it again") as caught:
        read_json(path, "list of events", lambda it: it, advice="; make it again")
    assert len(str(caught.value)) < 300


def test_what_a_file_lacks_is_named(tmp_path):
    path = tmp_path / "list.json"
    path.write_text("{}")
    with pytest.raises(InputError, match=r"is no list of events \('events' is missing\)"):
        read_json(path, "list of events", lambda it: it["events"])
