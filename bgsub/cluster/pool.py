"""Connect to a Dask cluster, or start one on this machine, and let it do tasks."""

from __future__ import annotations

import contextlib
import logging
import math
import re
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from bgsub.errors import BgsubError, UsageError, plural
from bgsub.runtime.processes import ask_child
from bgsub.runtime.threads import own_threads
from bgsub.version import how_to_install

notes = logging.getLogger("bgsub.notes")

# Seconds for a scheduler to answer, between two looks at its workers, and between two notes that
# there are none; and for how long there may be none, in Dask's words.
_PATIENCE_S, _LOOK_S, _SAID_EVERY_S, _ABSENCE = 15.0, 10.0, 60.0, "1h"
TRIES = 3  # of a task on machines that die of it
_LOCAL = re.compile(r"local(?::([1-9][0-9]{0,3}))?")
_REMOTE = re.compile(r"(tcp|tls|ws|wss|ucx)://[^/]+:[0-9]{1,5}/?")


@dataclass(frozen=True)
class Pool:
    """Workers of a cluster; its address stands in messages as it was given."""

    _client: Any
    _address: str

    def slots(self) -> dict[str, int]:
        """Count the tasks that the workers of each machine do at the same time, by its address."""
        from distributed.comm import get_address_host

        found: Counter[str] = Counter()
        for address, threads in self._client.nthreads().items():
            found[get_address_host(address)] += int(threads)
        return dict(found)

    def do(self, tasks: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Do tasks, each a function and its arguments; yield place and result as each is ready.

        The result is what the function returns or the error that it raised; BgsubError if every
        worker that tried it died. UsageError if the scheduler is gone, or no worker was there for
        as long as ``distributed.scheduler.no-workers-timeout`` says, an hour by default.
        """
        submit = self._client.submit
        places = {
            submit(*task, key=f"bgsub-run-{uuid.uuid4().hex}", pure=False): place
            for place, task in enumerate(tasks)
        }
        try:
            for future in self._completed(places):
                yield places.pop(future), _result(future)
                future.release()
        finally:
            if places:
                with contextlib.suppress(OSError, TimeoutError):  # nobody is there to be told
                    self._client.cancel(list(places), force=True)

    def _completed(self, futures: Collection[Any]) -> Iterator[Any]:
        """Yield futures as they are ready, and look now and then whether anybody works on them."""
        import dask.config
        from dask.utils import parse_timedelta
        from distributed import as_completed
        from distributed.scheduler import NoValidWorkerError, NoWorkerError

        name, patience = f"--scheduler {self._address}", "distributed.scheduler.no-workers-timeout"
        most_s = parse_timedelta(dask.config.get(patience, None) or _ABSENCE)
        none = f"{name}: had no worker for {_in_words(most_s)}"
        lost = UsageError(f"{none}; start some with `dask worker {self._address}`")
        left, since, told_s = set(futures), math.inf, 0.0
        while left:
            try:
                for future in as_completed(list(left), loop=self._client.loop, timeout=_LOOK_S):
                    if future.cancelled():
                        raise UsageError(f"{name}: the scheduler is gone; start it again")
                    # The scheduler may have the same patience, and be the first to lose it.
                    if isinstance(future.exception(), NoValidWorkerError | NoWorkerError):
                        raise lost
                    left.discard(future)
                    yield future
            except TimeoutError:
                if self._client.nthreads():
                    since, told_s = math.inf, 0.0
                    continue
                since = min(since, time.monotonic())
                away_s = time.monotonic() - since
                if away_s >= most_s:
                    raise lost from None
                if away_s - told_s >= _SAID_EVERY_S:
                    told_s = away_s
                    text = "%s has had no worker for %s, and %s; start some, or stop with Ctrl-C"
                    waits = "1 task waits" if len(left) == 1 else f"{len(left)} tasks wait"
                    notes.warning(text, self._address, _in_words(away_s), waits)


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else plural(round(seconds / 60), "minute")


def _result(future: Any) -> Any:
    from distributed import KilledWorker

    error = future.exception()
    if isinstance(error, KilledWorker):
        message = "every worker that tried it died, perhaps for lack of memory"
        return BgsubError(f"{message}; use workers with more, or less --memory")
    return future.result() if error is None else error


@contextlib.contextmanager
def connect(address: str) -> Iterator[Pool]:
    """Connect to a scheduler, or start workers (``local:N``) until the context ends; UsageError."""
    local = _LOCAL.fullmatch(address)
    if local is None and _REMOTE.fullmatch(address) is None:
        raise UsageError(f"--scheduler {address}: must be tcp://HOST:PORT, local or local:N")
    if find_spec("distributed") is None:
        installed = f"{how_to_install('cluster')} installs it"
        raise UsageError(f"--scheduler {address}: needs Dask; {installed}")
    import dask.config
    from distributed import LocalCluster

    # What happens to workers is said here, in words.
    for library in ("distributed", "distributed.client", "tornado.application", "asyncio"):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    tries = dask.config.set({"distributed.scheduler.allowed-failures": TRIES - 1})
    with tries, contextlib.ExitStack() as stack:
        place: Any = address
        if local is not None:
            workers = {"n_workers": int(local[1] or own_threads(None, 1)), "threads_per_worker": 1}
            # The work is done in processes of their own, which keep to --memory.
            workers |= {"memory_limit": 0, "silence_logs": logging.CRITICAL}
            place = stack.enter_context(LocalCluster(**workers, dashboard_address=None))
        client = _client(place, address, stack)
        if not client.nthreads():
            notes.info("%s has no worker yet; waiting for some", address)
        yield Pool(client, address)


def _client(place: Any, address: str, stack: contextlib.ExitStack) -> Any:
    """Open a connection all of whose ends have the Dask that is here; the stack closes it."""
    import distributed
    from distributed.versions import VersionMismatchWarning

    try:
        with warnings.catch_warnings():
            # Other versions are named below, without a table.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            client = stack.enter_context(
                distributed.Client(place, timeout=_PATIENCE_S, set_as_default=False)
            )
        found = client.get_versions()
    except Exception as error:  # what another version says may be misunderstood in any way
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        message = f"--scheduler {address}: no Dask scheduler answers there ({reason})"
        advice = f"check the address, and that it runs Dask {distributed.__version__}, as here"
        raise UsageError(f"{message}; {advice}") from error
    own = found["client"]["packages"]["distributed"]
    workers = {f"the worker {name}": facts for name, facts in found["workers"].items()}
    for who, facts in {"the scheduler": found["scheduler"], **workers}.items():
        theirs = facts["packages"]["distributed"]
        if theirs != own:
            message = f"--scheduler {address}: {who} has Dask {theirs}, and here is {own}"
            raise UsageError(f"{message}; install the same version on all machines")
    return client


def do_in_child(module: str, request: dict[str, Any], slots: dict[str, int]) -> dict[str, Any]:
    """Do a task of this worker in a process of its own, until it is cancelled; see `ask_child`.

    ``jobs`` is added to the request, the tasks that share this machine (see `Pool.slots`).
    """
    from distributed import get_worker
    from distributed.comm import get_address_host
    from distributed.worker import thread_state

    worker, key = get_worker(), thread_state.key
    own = int(worker.state.nthreads)
    here = max(own, slots.get(get_address_host(worker.address), own), 1)

    def is_cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state not in {"executing", "long-running"}

    return ask_child(module, {**request, "jobs": here}, is_cancelled)
