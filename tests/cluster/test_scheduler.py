"""Films and segments on a real Dask cluster of two worker processes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bgsub.cli import cli, jobs
from bgsub.cli.jobs import Job, Work, request_for
from bgsub.cli.messages import Session
from bgsub.cluster.pool import connect, do_in_child
from bgsub.options import RunOptions
from tests.conftest import make_scene

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("default"),  # what Dask warns of is no matter of ours
]

FAST = ("--k", "1", "--only", "errors,mask,model", "--format", "mkv")


@pytest.fixture(scope="module", autouse=True)
def surroundings():
    """Let workers import modules of these tests, and let no test wait long for a worker."""
    with (
        pytest.MonkeyPatch.context() as patch,
        dask.config.set({"distributed.scheduler.no-workers-timeout": "2m"}),
    ):
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)
        yield


def wait_until(condition, step=0.02):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("nothing has come of it")
        time.sleep(step)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0, silence_logs=50
    ) as started:
        yield started


@pytest.fixture
def address(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    return cluster.scheduler_address


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.npy"
    np.save(path, make_scene(300, 36, 48, visit=200))
    return str(path)


def call(*arguments):
    return CliRunner().invoke(cli, [str(one) for one in arguments])


def contents(out):
    names = ("errors.csv", "mask.mkv", "model.npz", "models/0001.npz", "models/0004.npz")
    return {name: (out / name).read_bytes() for name in names if (out / name).exists()}


@pytest.fixture(scope="module")
def alone(film, tmp_path_factory):
    """The same film in segments, in one process."""
    out = tmp_path_factory.mktemp("alone") / "out"
    assert call("run", film, *FAST, "--segment", 60, "--out", out).exit_code == 0
    return out


def test_films_have_the_bytes_of_one_process(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("a.npy", "b.npy", "bad.npy")
    for seed, name in enumerate(names):
        np.save(name, make_scene(60, 36, 48, seed=seed))
    (tmp_path / "bad.npy").write_bytes(b"no array")
    done = call("run", *names, *FAST, "--scheduler", address, "--out", "there")
    assert (done.exit_code, "1 of 3 inputs failed: bad.npy" in done.stderr) == (6, True)
    assert "bad.npy: is not an array file" in done.stderr
    call("run", *names, *FAST, "--out", "here")
    for name in ("a", "b"):
        found = contents(tmp_path / "there" / name)
        assert found == contents(tmp_path / "here" / name)
        assert len(found) == 3
    again = call(
        "run", *names[:2], *FAST, "--scheduler", address, "--skip-existing", "--out", "there"
    )
    assert (again.exit_code, again.stderr.count("skipped")) == (0, 3)


def test_the_only_input_has_its_own_exit_code(address, tmp_path):
    (tmp_path / "bad.npy").write_bytes(b"no array")
    failed = call(
        "run", tmp_path / "bad.npy", *FAST, "--scheduler", address, "--out", tmp_path / "o"
    )
    assert (failed.exit_code, failed.stderr.count("\n")) == (3, 1)


def test_segments_of_a_film_are_joined(address, film, alone, tmp_path):
    out = tmp_path / "out"
    done = call("run", film, *FAST, "--segment", 60, "--scheduler", address, "--out", out)
    assert (done.exit_code, done.exception) == (0, None)
    assert contents(out) == contents(alone)
    assert len(contents(out)) == 4
    assert not (out / ".segments").exists()


def test_a_worker_that_is_killed_is_replaced(cluster, address, film, alone, tmp_path):
    out = tmp_path / "out"
    killed = []

    def kill():
        with distributed.Client(cluster, set_as_default=False) as client:
            workers = client.run(os.getpid)
            wait_until(lambda: list(out.glob(".segments/*/run.json")))
            busy = [worker for worker, tasks in client.processing().items() if tasks]
            victim = workers[busy[0] if busy else next(iter(workers))]
            os.kill(victim, signal.SIGKILL)
            killed.append(bool(busy))

    killer = threading.Thread(target=kill)
    killer.start()
    done = call("run", film, *FAST, "--segment", 60, "--scheduler", address, "--out", out)
    killer.join()
    assert killed == [True]
    assert done.exit_code == 0, done.stderr
    assert contents(out) == contents(alone)


def test_a_poisoned_input_fails_after_three_tries_and_the_others_go_on(
    address, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jobs, "MODULE", "tests.cluster.poisoned")
    np.save("good.npy", make_scene(60, 36, 48))
    np.save("poison.npy", make_scene(60, 36, 48))
    done = call("run", "poison.npy", "good.npy", *FAST, "--scheduler", address, "--out", "out")
    assert done.exit_code == 6
    assert (tmp_path / "poison.tries").read_text() == "xxx"
    (line,) = [one for one in done.stderr.splitlines() if "was killed" in one]
    assert line.startswith("bgsub: poison.npy: ")
    assert "3 times (a library is about to crash)" in line
    assert "1 of 2 inputs failed: poison.npy" in done.stderr
    assert (tmp_path / "out" / "good" / "run.json").exists()


def test_work_that_nobody_waits_for_is_stopped(address, tmp_path):
    job = Job(str(tmp_path / "sleeper.npy"), tmp_path / "out")
    request = request_for(job, Work(RunOptions()), Session())
    with connect(address) as pool:
        arguments = ("tests.cluster.poisoned", request, pool.slots())
        work = pool.do([(do_in_child, *arguments), (os.getpid,)])
        assert next(work)[0] == 1
        wait_until((tmp_path / "sleeper.pid").exists)
        work.close()
        wait_until((tmp_path / "sleeper.end").exists)


def test_results_that_are_put_elsewhere_are_missed(address, tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", make_scene(60, 36, 48))
    monkeypatch.setattr(jobs, "_PATIENCE_S", 0.0)
    real = jobs.request_for

    def moved(*arguments, **more):
        request = real(*arguments, **more)
        return request | {"job": replace(request["job"], out=tmp_path / "elsewhere")}

    monkeypatch.setattr(jobs, "request_for", moved)
    failed = call("run", tmp_path / "a.npy", *FAST, "--scheduler", address, "--out", tmp_path / "o")
    assert (failed.exit_code, "give an --out that all workers see" in failed.stderr) == (5, True)


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr("bgsub.cluster.pool._PATIENCE_S", 0.5)
    failed = call("run", "a.npy", "--scheduler", "tcp://127.0.0.1:9", "--out", tmp_path / "o")
    assert (failed.exit_code, failed.stderr.count("\n")) == (2, 1)
    assert "no Dask scheduler answers there" in failed.stderr


def test_a_worker_of_another_version_is_not_asked(address, tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", make_scene(60, 36, 48))
    monkeypatch.setattr("bgsub.cli.jobs.__version__", "9.8.7")
    failed = call("run", tmp_path / "a.npy", *FAST, "--scheduler", address, "--out", tmp_path / "o")
    assert (failed.exit_code, failed.stderr.count("\n")) == (2, 1)
    assert "is on this worker, and 9.8.7 asks it; install the same everywhere" in failed.stderr
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("who", ["scheduler", "worker"])
def test_another_dask_is_refused_in_a_line(address, tmp_path, monkeypatch, who):
    versions = distributed.Client.get_versions

    def other(client):
        found = versions(client)
        facts = found[who] if who == "scheduler" else next(iter(found["workers"].values()))
        facts["packages"]["distributed"] = "1.2.3"
        return found

    monkeypatch.setattr(distributed.Client, "get_versions", other)
    failed = call("run", "a.npy", "--scheduler", address, "--out", tmp_path / "o")
    assert (failed.exit_code, failed.stderr.count("\n")) == (2, 1)
    assert f"the {who} " in failed.stderr
    assert "has Dask 1.2.3, and here is" in failed.stderr


def test_an_answer_that_is_not_understood_is_an_error_of_use(address, tmp_path, monkeypatch):
    def misunderstood(client):
        raise TypeError("identity() got an unexpected argument")

    monkeypatch.setattr(distributed.Client, "get_versions", misunderstood)
    failed = call("run", "a.npy", "--scheduler", address, "--out", tmp_path / "o")
    assert (failed.exit_code, failed.stderr.count("\n")) == (2, 1)
    assert "no Dask scheduler answers there (TypeError: identity()" in failed.stderr


def test_a_worker_that_dies_as_it_joins_is_replaced(tmp_path):
    np.save(tmp_path / "a.npy", make_scene(60, 36, 48))
    settings = {"n_workers": 0, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings, memory_limit=0, silence_logs=50) as cluster:

        def come_and_go():
            command = [sys.executable, "-m", "distributed.cli.dask_worker"]
            command += [cluster.scheduler_address, "--nthreads", "1", "--no-dashboard"]
            with subprocess.Popen(
                [*command, "--no-nanny"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as first:
                wait_until(lambda: cluster.scheduler.workers, step=0.001)
                first.kill()
            cluster.scale(1)

        thread = threading.Thread(target=come_and_go)
        thread.start()
        done = call(
            *("run", tmp_path / "a.npy", *FAST, "--out", tmp_path / "o"),
            *("--scheduler", cluster.scheduler_address),
        )
        thread.join()
    assert done.exit_code == 0, done.stderr
    assert "has no worker yet" in done.stderr
    assert set(contents(tmp_path / "o")) == {"errors.csv", "mask.mkv", "model.npz"}


def test_a_cluster_that_loses_all_workers_is_left_with_what_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr("bgsub.cluster.pool._LOOK_S", 0.1)
    monkeypatch.setattr("bgsub.cluster.pool._SAID_EVERY_S", 0.2)
    monkeypatch.setattr(jobs, "MODULE", "tests.cluster.poisoned")
    wait = dask.config.set({"distributed.scheduler.no-workers-timeout": "1s"})
    settings = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.LocalCluster(**settings, memory_limit=0, silence_logs=50) as cluster:
        monkeypatch.chdir(tmp_path)
        np.save("good.npy", make_scene(60, 36, 48))
        np.save("sleeper.npy", make_scene(60, 36, 48))

        def leave():
            wait_until((tmp_path / "out" / "good" / "run.json").exists)
            wait_until(lambda: len(cluster.scheduler.tasks) == 1)  # not while its reply travels
            cluster.scale(0)

        thread = threading.Thread(target=leave, daemon=True)
        thread.start()
        with wait:
            done = call(
                *("run", "good.npy", "sleeper.npy", *FAST, "--out", "out"),
                *("--scheduler", cluster.scheduler_address),
            )
        thread.join(60)
    assert done.exit_code == 6, done.stderr
    assert "has had no worker for" in done.stderr
    assert "1 task waits" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert "had no worker for 1 s; start some" in last
    assert "1 of 2 inputs were finished, --skip-existing" in last


def test_a_scheduler_that_goes_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jobs, "MODULE", "tests.cluster.poisoned")
    monkeypatch.setattr("bgsub.cluster.pool._PATIENCE_S", 1.0)
    np.save("sleeper.npy", make_scene(60, 36, 48))
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    command += ["--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", "where.json"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as scheduler:
        wait_until((tmp_path / "where.json").exists)
        time.sleep(0.2)
        address = json.loads((tmp_path / "where.json").read_text())["address"]
        killer = threading.Timer(3.0, scheduler.kill)
        killer.start()
        done = call("run", "sleeper.npy", *FAST, "--scheduler", address, "--out", "out")
        killer.join()
    assert (done.exit_code, done.stderr.count("bgsub: ")) == (2, 1), done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("bgsub: ")]
    assert error.startswith(f"bgsub: --scheduler {address}: the scheduler is gone; start it")


def test_another_way_to_share_the_work_is_refused_and_an_idle_option_named(tmp_path):
    command = ("run", "a.npy", "--scheduler", "local", "--out", tmp_path / "o")
    failed = call(*command, "--part", "1/2")
    assert (failed.exit_code, failed.stderr.count("\n")) == (2, 1)
    gone = call(*command, "--jobs", 2)
    assert gone.exit_code == 3
    assert "--jobs has no effect" in gone.stderr


def test_dask_opens_what_is_written_and_writes_what_is_read(film, tmp_path):
    arrays = pytest.importorskip("dask.array")
    pytest.importorskip("zarr")
    out = tmp_path / "out"
    assert call("run", film, "--only", "mask", "--format", "zarr", "--out", out).exit_code == 0
    mask = arrays.from_zarr(str(out / "mask.zarr"))
    assert (mask.shape, mask.dtype) == ((300, 36, 48), np.uint8)
    assert set(np.unique(mask.compute())) <= {0, 255}
    frames = arrays.from_array(np.load(film), chunks=(50, 20, 48, 3))
    arrays.to_zarr(frames, str(tmp_path / "film.zarr"))
    for place in ("film.zarr", film):
        with contextlib.chdir(tmp_path):
            done = call("run", place, *FAST, "--out", f"of-{place[-4:]}")
            assert done.exit_code == 0, done.stderr
    assert contents(tmp_path / "of-zarr")["mask.mkv"] == contents(tmp_path / "of-.npy")["mask.mkv"]
