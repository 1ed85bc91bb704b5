"""Amounts of memory and disk space."""

import contextlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import MemoryLimitError, OutputError
from bgsub.runtime import limits as available
from bgsub.runtime.limits import (
    address_room,
    amount,
    available_memory,
    check_address_space,
    check_folder,
    free_space,
    give_back,
    memory_bytes,
    spill_folder,
    split_memory,
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("600M", 600e6),
        ("4G", 4e9),
        ("1.5g", 1.5e9),
        (" 2 GiB ", 2e9),
        ("12345", 12345),
        ("3kB", 3e3),
    ],
)
def test_amounts(text, count):
    assert memory_bytes(text) == count


def test_shares_are_of_what_is_available(monkeypatch):
    monkeypatch.setattr(available, "available_memory", lambda: 1000)
    assert [memory_bytes(text) for text in ("50%", "100 %", "0.01%")] == [500, 1000, 1]


@pytest.mark.parametrize(
    "text", ["", "M", "-1G", "0", "0%", "101%", "50%%", "nan", "4X", "1e3", "٣M%"]
)
def test_what_is_no_amount(text):
    with pytest.raises(ValueError, match="is no amount of memory"):
        split_memory(text)


@given(st.text(max_size=12))
def test_any_text_is_an_amount_or_refused(text):
    with contextlib.suppress(ValueError):
        assert memory_bytes(text) >= 1


@given(st.integers(1, 10**14))
def test_an_amount_that_is_advised_is_enough(count):
    assert count <= memory_bytes(amount(count)) <= 1.1 * count + 10**6


class TestAvailable:
    @pytest.fixture
    def system(self, tmp_path, monkeypatch):
        """A pretended system: what /proc and /sys say."""
        names = {"_CGROUPS": "cgroup", "_CGROUP_ROOT": "groups", "_MEMINFO": "meminfo"}
        for name, file in names.items():
            monkeypatch.setattr(available, name, tmp_path / file)
        (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")

        def write(**files):
            for name, text in files.items():
                path = tmp_path / name.replace("__", "/").replace("_", ".")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

        return write

    def test_without_groups(self, system):
        assert available_memory() == 8000 * 1024

    def test_a_limit_of_version_2_with_its_cache(self, system):
        system(
            cgroup="0::/a/b\n",
            groups__a__b__memory_max="5000\n",
            groups__a__b__memory_current="4000",
        )
        assert available_memory() == 1000
        system(groups__a__b__memory_stat="anon 1\ninactive_file 700\n")
        assert available_memory() == 1700

    def test_the_limit_of_a_group_above(self, system):
        system(
            cgroup="0::/a/b\n",
            groups__a__b__memory_max="max\n",
            groups__a__b__memory_current="4000",
        )
        system(groups__a__memory_max="6000\n", groups__a__memory_current="5500")
        assert available_memory() == 500

    def test_in_a_container_the_path_is_not_there(self, system):
        system(cgroup="0::/docker/x\n", groups__memory_max="9000", groups__memory_current="2000")
        assert available_memory() == 7000

    def test_a_limit_on_address_space(self, system, monkeypatch):
        monkeypatch.setattr(available, "address_room", lambda: available._LIBRARIES + 3000)
        assert available_memory() == 3000
        monkeypatch.setattr(available, "address_room", lambda: 5)
        assert available_memory() == 1
        monkeypatch.setattr(available, "address_room", lambda: None)
        assert available_memory() == 8000 * 1024

    def test_version_1(self, system):
        system(cgroup="5:cpu,cpuacct:/\n4:memory:/\n")
        (available._CGROUP_ROOT / "memory").mkdir(parents=True)
        for name, text in (("limit", "9000"), ("usage", "8000")):
            (available._CGROUP_ROOT / "memory" / f"memory.{name}_in_bytes").write_text(text)
        assert available_memory() == 1000

    def test_a_full_group_and_nothing_known(self, system):
        system(cgroup="0::/\n", groups__memory_max="10", groups__memory_current="20")
        assert available_memory() == 1
        system(cgroup="nonsense", meminfo="MemFree: 3 kB\n")
        assert available_memory() > 10**6

    def test_of_this_machine(self):
        assert available_memory() > 10**7


class TestFolders:
    def test_the_folder_for_frames(self, monkeypatch, tmp_path):
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", None)
        assert spill_folder() == tmp_path
        monkeypatch.delenv("TMPDIR")
        assert os.access(spill_folder(), os.W_OK)

    def test_a_folder_that_cannot_be_used(self, tmp_path):
        check_folder(tmp_path, "--temp")
        (tmp_path / "file").write_text("")
        with pytest.raises(OutputError, match=r"--temp .*none: does not exist; name a folder"):
            check_folder(tmp_path / "none", "--temp")
        with pytest.raises(OutputError, match="is no folder"):
            check_folder(tmp_path / "file", "--temp")

    def test_a_folder_that_may_not_be_written(self, tmp_path, monkeypatch):
        monkeypatch.setattr(available.os, "access", lambda *_: False)
        with pytest.raises(OutputError, match="may not be written to"):
            check_folder(tmp_path, "--temp")

    def test_free_space(self, tmp_path):
        assert free_space(tmp_path) > 0
        assert free_space(tmp_path / "none") == 0


def test_memory_is_given_back_on_any_system(monkeypatch):
    give_back()

    def missing(_name):
        raise OSError

    monkeypatch.setattr("ctypes.CDLL", missing)
    give_back()


def test_a_run_wants_address_space_for_its_libraries(monkeypatch):
    check_address_space(10**6)  # nothing limits it here
    monkeypatch.setattr(available, "address_room", lambda: 640_000_000)
    check_address_space(2)
    with pytest.raises(MemoryLimitError, match="leaves 640M, and a run takes 664M") as raised:
        check_address_space(4)
    assert raised.value.exit_code == 7


def test_what_is_left_of_the_address_space(monkeypatch):
    resource = pytest.importorskip("resource")
    if not available._STATM.exists():
        pytest.skip("this system does not say what is taken")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, 0))
    assert address_room() is None
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10**15, 0))
    assert 10**15 - 10**12 < address_room() < 10**15 - 10**7
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, 0))
    assert address_room() == 0
