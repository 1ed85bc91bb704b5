"""Let other processes compute some of the values that a run needs, beside this one.

Threads of one process wait for each other where each call of a library takes a fraction of a
millisecond, as on small pictures; processes do not. They are programs of their own, so that no
script, notebook or program with threads is begun again or copied for them.
"""

from __future__ import annotations

import logging
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, BinaryIO, Generic, Self, TypeVar, cast

from bgsub.runtime.beginning import ahead, end_process, start_process
from bgsub.runtime.messages import Answer, Call, Maker, Modules, receive, send

Value = TypeVar("Value")

notes = logging.getLogger("bgsub.notes")

_AT_ONCE = 2
"""Calls that a helper has: while it works on one, the next is on its way."""

_LOST = "a process that helped has died, perhaps for lack of memory; its work is done without it"


class Task(Generic[Value]):
    """A value that is wanted, of a helper or of whoever needs it first."""

    def __init__(self, argument: object, compute: Callable[[], Value]) -> None:
        self.argument, self.compute = argument, compute
        self.is_done = False
        self._value: Value | None = None

    def finish(self, value: Value) -> None:
        """Take the value."""
        self._value, self.is_done = value, True
        self.argument = None  # the memory of frames

    @property
    def value(self) -> Value:
        """The value, once it is there."""
        return cast("Value", self._value)


class Helpers:
    """Processes that call one function for this one, as long as it lasts.

    A context manager; leaving it ends them at once. They end with this process however that ends.
    What one has not answered when it dies is computed here, with the same result.

    Parameters
    ----------
    count : int
    modules : sequence of str
        What they import at once, before anything is wanted of them.
    """

    def __init__(self, count: int, modules: Sequence[str]) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Task[Any]] = deque()
        self._is_closed, self._lost, self._served = False, 0, 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self._modules = Modules(tuple(modules))
        self._maker: Maker | None = None
        for _ in range(count):
            process = ahead.take(self._modules) or start_process(self._modules)
            if process is not None:
                self._processes.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._processes)

    def begin(self, make: Callable[..., Callable[[Any], Any]], arguments: dict[str, Any]) -> None:
        """Say what is to be called from now on, when nothing is wanted any more.

        Parameters
        ----------
        make : callable
            A function of a module; ``make(**arguments)`` gives what is to be called.
        arguments : dict of str to object
            Whatever can be pickled.
        """
        with self._changed:
            self._maker = Maker(make, arguments)
            self._changed.notify_all()
        for process in self._processes[len(self._threads) :]:
            thread = threading.Thread(
                target=self._serve, args=(process,), name="bgsub-helper", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:  # the system has no thread left
                return
            self._threads.append(thread)
            with self._changed:
                self._served += 1

    def submit(self, argument: object, compute: Callable[[], Value]) -> Task[Value]:
        """Want a value.

        Parameters
        ----------
        argument : object
            Of the function that is called by a helper.
        compute : callable
            Gives the same value here.
        """
        task = Task(argument, compute)
        with self._changed:
            self._waiting.append(task)
            self._changed.notify_all()
        return task

    def result(self, task: Task[Value], *, waits: bool = False) -> Value:
        """Give a value; until it is there, compute here what no helper has begun.

        Or, where this process had better wait, what is left when no helper is.
        """
        while True:
            with self._changed:
                while not task.is_done and ((waits and self._served) or not self._waiting):
                    self._changed.wait()
                if task.is_done:
                    return task.value
                own = self._waiting.popleft()
                lost, self._lost = self._lost, 0
            for _ in range(lost):
                notes.info(_LOST)
            own.finish(own.compute())

    def _take(self, begun: deque[Task[Any]], maker: Maker | None) -> list[Task[Any]] | None:
        """Wait for what a helper is to do after what it has begun.

        None at the end; nothing where it has to learn first what is to be called.
        """
        with self._changed:
            while not (self._waiting or begun or self._is_closed or maker is not self._maker):
                self._changed.wait()
            if self._is_closed:
                return None
            if maker is not self._maker:
                return []
            count = min(len(self._waiting), _AT_ONCE - len(begun))
            more = [self._waiting.popleft() for _ in range(count)]
        begun += more
        return more

    def _serve(self, process: subprocess.Popen[bytes]) -> None:
        """Let a process compute until one of us ends; what it leaves undone is for others."""
        begun: deque[Task[Any]] = deque()
        try:
            self._exchange(process, begun)
        except Exception:
            process.kill()
        with self._changed:
            self._waiting.extendleft(reversed(begun))
            self._lost += not self._is_closed
            self._served -= 1
            self._changed.notify_all()

    def _exchange(self, process: subprocess.Popen[bytes], begun: deque[Task[Any]]) -> None:
        """Pass tasks to a process and take what it gives, until no more is wanted."""
        calls, answers = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
        maker: Maker | None = None
        while (more := self._take(begun, maker)) is not None:
            if maker is not self._maker and not begun:
                maker = self._maker
                send(calls, maker)
                _answer(answers)
                continue
            for task in more:
                send(calls, Call(task.argument))
            value = _answer(answers)
            with self._changed:
                begun.popleft().finish(value)
                self._changed.notify_all()

    def close(self) -> None:
        """End the processes, whatever they compute."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for process in self._processes:
            process.kill()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            end_process(process)
        self._processes.clear()


def _answer(pipe: BinaryIO) -> Any:
    """Read the value of a call.

    Raises
    ------
    EOFError
        If the process has ended.
    """
    answer = receive(pipe)
    if answer is None:
        raise EOFError
    return cast("Answer", answer).value
