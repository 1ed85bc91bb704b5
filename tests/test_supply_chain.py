"""What the project says of its dependencies holds together."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
EXTRAS = PROJECT["optional-dependencies"]
ASKED = [*PROJECT["dependencies"], *EXTRAS["test"], *EXTRAS["check"]]
DEVELOPMENT = [Requirement(text) for text in ASKED]


def locked(name):
    found = re.findall(rf"^{re.escape(name)}==(\S+)", LOCK, re.MULTILINE | re.IGNORECASE)
    return [Version(version) for version in found]


@pytest.mark.parametrize("requirement", DEVELOPMENT, ids=lambda each: each.name)
def test_the_lock_has_what_the_project_asks_for(requirement):
    versions = locked(requirement.name)
    assert versions, "run make lock"
    assert all(version in requirement.specifier for version in versions), "run make lock"
    assert ">=" in {specifier.operator for specifier in requirement.specifier}


def test_every_file_of_the_lock_has_a_hash():
    blocks = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(blocks) >= len(DEVELOPMENT)
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
