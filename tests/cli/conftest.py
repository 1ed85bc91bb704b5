"""A runner for the command line, and a pipeline that does nothing but remember."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import bgsub.pipeline
import bgsub.segments.run
from bgsub.cli import cli
from tests.conftest import make_facts

Invoke = Callable[..., Result]


@pytest.fixture
def invoke() -> Invoke:
    """Call bgsub with arguments; the result has exit_code, stdout and stderr."""

    def call(*args: object, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin)

    return call


@dataclass
class FakeResult:
    out: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    findings: list[str] = field(default_factory=lambda: ["3 of 9 frames stand out"])
    hints: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class FakePipeline(types.ModuleType):
    """Stands in for the pipeline; `act` may be set to raise or to make results."""

    def __init__(self) -> None:
        super().__init__("bgsub.pipeline.run")
        self.calls: list[tuple[Any, ...]] = []
        self.act: Callable[[str, Path], FakeResult | None] = lambda _path, _out: None

    def run(self, path: str, out: Path, options: Any, *, progress: Any = None) -> FakeResult:
        self.calls.append((path, out, options))
        progress("decode", 1, 9)
        progress("decode", 9, 9)
        result = self.act(path, out) or FakeResult(out)
        write_manifest(out, path, options=options.to_json())
        return result

    def apply(
        self, model: Path, path: str, out: Path, options: Any, *, progress: Any = None
    ) -> FakeResult:
        self.calls.append((model, path, out, options))
        progress("write", 9, 9)
        return self.act(path, out) or FakeResult(out)


def write_manifest(out: Path, path: str, **more: Any) -> None:
    """Make a folder look like whole results of an input."""
    out.mkdir(parents=True, exist_ok=True)
    manifest = make_facts(path, **more)
    (out / "run.json").write_text(json.dumps(manifest), encoding="utf-8")


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> FakePipeline:
    """Put a fake pipeline in the place of the real one."""
    fake = FakePipeline()
    monkeypatch.setitem(sys.modules, "bgsub.pipeline.run", fake)
    monkeypatch.setattr(bgsub.pipeline, "run", fake, raising=False)
    monkeypatch.setattr(bgsub.segments.run, "pipeline", fake)
    return fake


@pytest.fixture
def make_manifest() -> Callable[..., None]:
    """Make a folder look like whole results of an input."""
    return write_manifest


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Footage, and the results of a run on it."""
    from bgsub.pipeline.run import run
    from tests.conftest import make_options, make_scene

    folder = tmp_path_factory.mktemp("made")
    np.save(folder / "clip.npy", make_scene())
    chosen = {"outputs": {"mask", "errors", "objects", "tracks", "events"}, "format": "mkv"}
    run(folder / "clip.npy", folder / "results", make_options(**chosen, model="paper"))
    return folder
