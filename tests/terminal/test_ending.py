"""An interrupt at each line of a member: it always ends, and leaves its group."""

import contextlib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from odradek.broker.cli.records import consume, group_reading
from odradek.terminal.ending import BY_ANYBODY, BY_KEYBOARD, Ending, ended_by
from tests.fakes.group_of_one import COUNT, TOPIC, GroupOfOne

ROOT = Path(__file__).parents[2]
OURS = tuple(
    str(ROOT / "odradek" / each) for each in ("client", "broker/cli", "terminal")
)
ALL_LINES = bool(os.environ.get("ODRADEK_LONG"))
NUMBERS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Those of the tests, whatever became of them."""
    before = {each: signal.getsignal(each) for each in BY_ANYBODY}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


class Interrupting:
    """Runs a function and has a signal come before the line of that number.

    ``counts`` of our lines were run. With ``is_dropped`` Python drops what the signal
    raises, as it does where nobody could catch it.
    """

    def __init__(
        self, at: int, number: signal.Signals, *, is_dropped: bool = False
    ) -> None:
        self.count = 0
        self.has_come = False
        self._at = at
        self._number = number
        self._is_dropped = is_dropped

    def run(self, function: Callable[[], object]) -> BaseException | None:
        """What it ended with; None: with nothing."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            function()
        except (KeyboardInterrupt, SystemExit) as error:
            return error
        finally:
            sys.settrace(before)
        return None

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if frame.f_code.co_filename.endswith("ending.py"):
            return None  # the handler itself
        if event == "line":
            self.count += 1
            if self.count >= self._at and not self.has_come:
                self._interrupt(frame)
        return self._trace

    def _interrupt(self, frame: FrameType) -> None:
        handler = signal.getsignal(self._number)
        assert callable(handler)
        if not self._is_dropped:
            self.has_come = True
            handler(self._number, frame)
        elif isinstance(getattr(handler, "__self__", None), Ending):
            self.has_come = True
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                handler(self._number, frame)


class Consumed:
    """One ``consume --group``, and what became of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.group = GroupOfOne()
        self.output = io.BytesIO()
        stdout = SimpleNamespace(buffer=self.output, flush=lambda: None)
        monkeypatch.setattr(sys, "stdout", stdout)
        given = [TOPIC, "--group", "g"]
        for name, value in options.items():
            given += [f"--{name}", *([str(value)] if value is not True else [])]
        self._options = consume._parse(given)

    def __call__(self) -> None:
        with self.group.cluster() as cluster:
            assert consume._consume(cluster, self._options) == 0

    def check_left(self) -> None:
        """Nothing is committed that was not written, and no member is left behind."""
        assert not self.group.members
        written = self.output.getvalue().split()
        assert written == [b"%d" % number for number in range(len(written))]
        assert self.group.committed <= len(written)


def steps(monkeypatch: pytest.MonkeyPatch, **options: Any) -> range:
    """The lines to be interrupted: all, or some that are spread over all."""
    whole = Interrupting(sys.maxsize, signal.SIGINT)
    consumed = Consumed(monkeypatch, **options)
    assert whole.run(consumed) is None
    assert whole.count > 500
    assert consumed.group.committed == COUNT
    return range(1, whole.count + 1, 1 if ALL_LINES else 7)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_at_any_line_ends_it_and_the_member_leaves(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _as_the_system_does)
    for at in steps(monkeypatch, exit=True):
        consumed = Consumed(monkeypatch, exit=True)
        interrupting = Interrupting(at, number)
        ended = interrupting.run(consumed)
        assert interrupting.has_come
        expected = KeyboardInterrupt if number == signal.SIGINT else SystemExit
        assert type(ended) is expected, f"line {at}"
        consumed.check_left()


def _as_the_system_does(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def test_what_python_drops_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads for ever, and still ends."""
    monkeypatch.setattr(group_reading.time, "sleep", lambda _: None)
    for at in list(steps(monkeypatch, exit=True))[:: 1 if ALL_LINES else 3]:
        consumed = Consumed(monkeypatch)
        interrupting = Interrupting(at, signal.SIGINT, is_dropped=True)
        assert type(interrupting.run(consumed)) is KeyboardInterrupt, f"line {at}"
        consumed.check_left()


def test_while_it_leaves_the_first_signal_waits_and_the_second_does_not() -> None:
    def leave() -> None:
        with ended_by(BY_KEYBOARD) as ending:
            ending.is_leaving = True
            signal.raise_signal(signal.SIGINT)
            assert not ending.is_urgent
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            assert ending.is_urgent

    with pytest.raises(KeyboardInterrupt):
        leave()


def test_what_timeout_tells_twice_is_one_wish() -> None:
    clock = iter([5.0, 5.4, 6.1])
    ending = Ending(lambda: next(clock))
    with pytest.raises(SystemExit):
        ending.tell(signal.SIGTERM, None)
    ending.tell(signal.SIGTERM, None)
    assert not ending.is_urgent
    with pytest.raises(SystemExit):
        ending.check()
    with pytest.raises(SystemExit):
        ending.tell(signal.SIGTERM, None)
    assert ending.is_urgent


def test_who_is_in_a_hurry_does_not_wait_for_the_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consumed = Consumed(monkeypatch)
    answer = consumed.group.answer

    def answer_slowly(request: Any) -> Any:
        name = type(request).__name__
        if name == "FetchRequest" or (name == "OffsetCommitRequest"):
            signal.raise_signal(signal.SIGINT)
        assert name != "LeaveGroupRequest"
        return answer(request)

    monkeypatch.setattr(consumed.group, "answer", answer_slowly)
    with pytest.raises(KeyboardInterrupt):
        consumed()


def test_a_signal_that_is_to_be_ignored_stays_so() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with ended_by(BY_ANYBODY) as ending:
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) == ending.tell
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGTERM) != ending.tell


def test_a_signal_says_its_number() -> None:
    with pytest.raises(SystemExit) as ended, ended_by(BY_ANYBODY):
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
