"""What clients asked of a broker for tests, and what they were answered.

    with broker.expect("Produce", topic=t, error="NONE", times=2):
        ...
    with broker.journal() as journal:
        ...
        journal.calls("Fetch", count=1)

Calls can be told apart by what `odradek.testing.faults` knows of requests, by their
``error`` ("NONE": none at all), and by the ``rule`` that was at work on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    Ask = Callable[..., list[dict[str, Any]]]

TIMEOUT_S = 10.0
_SHOWN_MAX = 40
_BESIDE = ("since", "error", "rule", "records")


class Call(NamedTuple):
    """A request and its answer, decoded; records are a count and a size.

    ``codes`` are the errors in the answer, "NONE" when there is none in it.
    ``elapsed_ms`` is the time from request to answer, ``ended_ms`` when that was.
    """

    number: int
    api: str
    version: int
    client_id: str | None
    connection: str
    correlation_id: int
    ended_ms: int
    elapsed_ms: float
    outcome: str
    codes: list[str]
    rules: list[int]
    request_size: int
    answer_size: int
    request: dict[str, Any] | None
    answer: dict[str, Any] | None

    def __str__(self) -> str:
        codes = ", ".join(self.codes) or self.outcome
        rules = f", rule {', '.join(map(str, self.rules))}" if self.rules else ""
        return (
            f"#{self.number} {self.api} v{self.version}: {codes}{rules} "
            f"({self.client_id} at {self.connection}, {self.elapsed_ms} ms)"
        )


class Calls(list[Call]):
    """Calls; ``lost`` are so many before them, ``next`` is the number to go on at."""

    lost: int
    next: int

    @classmethod
    def of(cls, items: Iterable[Mapping[str, Any]]) -> Self:
        """Those in an answer of the broker."""
        head, *rest = items
        calls = cls(Call(**each) for each in rest)
        calls.lost, calls.next = head["lost"], head["next"]
        return calls


def calls(
    ask: Ask,
    api: str | None = None,
    *,
    count: int | None = None,
    timeout: float = TIMEOUT_S,
    **wanted: Any,
) -> Calls:
    """The calls from number ``since`` on. With ``count`` wait for so many.

    With ``records`` their records are decoded, except of very large calls.

    Raises:
        TimeoutError: they did not come in time; the message has what did.
        Refused: nobody writes calls down, or that makes no sense.
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    beside = {name: given.pop(name) for name in _BESIDE if name in given}
    match = given if api is None else {"api": api, **given}
    timeout_ms = int(timeout * 1000)
    asked = ask("calls", match=match, count=count, timeout_ms=timeout_ms, **beside)
    found = Calls.of(asked)
    if count is not None and len(found) < count:
        since = beside.get("since", 0)
        title = f"expected {_described(api, wanted)} {count} times; {len(found)} came"
        came = Calls.of(ask("calls", since=since))
        raise TimeoutError(_dump(title, came))
    return found


class Journal:
    """Has calls written down as long as it is entered."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.since = 0

    def calls(self, api: str | None = None, **wanted: Any) -> Calls:
        """As `odradek.testing.Broker.calls`, of those since it was entered."""
        return calls(self._ask, api, **{"since": self.since, **wanted})

    def __enter__(self) -> Self:
        [item] = self._ask("journal.begin")
        self.since = item["next"]
        return self

    def __exit__(self, *_: object) -> None:
        self._ask("journal.end")


class Step(NamedTuple):
    """Calls that are to come; ``times`` None: one or more."""

    api: str | None
    times: int | None
    wanted: dict[str, Any]

    def __str__(self) -> str:
        times = "" if self.times is None else f", {self.times} times"
        return f"{_described(self.api, self.wanted)}{times}"


class Expectation:
    """Calls that must come while it is entered, or soon after."""

    def __init__(
        self,
        ask: Ask,
        api: str | None,
        times: int | None,
        timeout: float,
        wanted: dict[str, Any],
    ) -> None:
        self._ask = ask
        self._journal = Journal(ask)
        self._steps = [Step(api, times, wanted)]
        self._timeout = timeout
        self.calls = Calls()  # those that were expected, and came

    def then(self, api: str, times: int | None = None, **wanted: Any) -> Self:
        """Behind these, so many of that; others may come between."""
        self._steps.append(Step(api, times, wanted))
        return self

    def __enter__(self) -> Self:
        self._journal.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._check()
        finally:
            self._journal.__exit__()

    def _check(self) -> None:
        since = self._journal.since
        for step in self._steps:
            found = self._found(step, since)
            is_alone = len(self._steps) == 1
            if is_alone and step.times is not None and len(found) > step.times:
                came = f"{len(found)} came"
                raise AssertionError(_dump(f"expected {step}; {came}", found))
            taken = found if is_alone else found[: step.times or 1]
            self.calls += taken
            if taken:
                since = taken[-1].number + 1

    def _found(self, step: Step, since: int) -> Calls:
        if step.times == 0:
            return calls(self._ask, step.api, since=since, **step.wanted)
        wait = {"count": step.times or 1, "timeout": self._timeout, "since": since}
        try:
            return calls(self._ask, step.api, **{**wait, **step.wanted})
        except TimeoutError as error:
            raise AssertionError(str(error)) from None


def _dump(title: str, came: list[Call]) -> str:
    lines = [f"  {call}" for call in came[-_SHOWN_MAX:]]
    left = len(came) - len(lines)
    if left > 0:
        lines.insert(0, f"  ({left} before these)")
    return "\n".join([f"{title}; the calls meanwhile:", *(lines or ["  none"])])


def _described(api: str | None, wanted: Mapping[str, Any]) -> str:
    said = [f"{name}={value!s}" for name, value in wanted.items() if name != "since"]
    return " ".join([api or "a call", *said])
