"""Faults of a broker for tests: requests that fare badly because a test wants it so.

    rule = broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=t, times=2)
    with broker.faults.drop("OffsetCommit", group=g, when="after"):
        ...

Every kind of fault takes, as keywords, which requests are meant (``version``,
``topic``, ``partition``, ``group``, ``transactional_id``, ``client_id``,
``connection``; names may be patterns) and which of those (``skip`` the first,
``times`` at most, ``every`` so many, with a ``probability`` and its ``seed``).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .errors import Refused, SharedBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self

    Ask = Callable[..., list[dict[str, Any]]]

TIMEOUT_S = 10.0
_WHEN = ("skip", "times", "every", "probability", "seed")
_SHARED = "shared-broker"


class Rule:
    """A fault that is armed. In a ``with`` it is cleared at the end."""

    def __init__(self, ask: Ask, item: Mapping[str, Any]) -> None:
        self._ask = ask
        self.id: int = item["id"]
        self.seed: int = item["seed"]

    @property
    def count(self) -> int:
        """How often it was at work. Of one that was cleared, until then."""
        return int(self._item()["count"])

    @property
    def held(self) -> int:
        """How many requests wait for `release`."""
        return int(self._item()["held"])

    def wait(self, count: int = 1, timeout: float = TIMEOUT_S) -> None:
        """Return when it has been at work so often.

        Raises:
            TimeoutError: it was not, in so many seconds.
        """
        timeout_ms = int(timeout * 1000)
        try:
            self._ask("faults.fired", id=self.id, count=count, timeout_ms=timeout_ms)
        except Refused as refused:
            if refused.word != "timeout":
                raise
            raise TimeoutError(str(refused)) from None

    def release(self, count: int | None = None) -> int:
        """Let go what a hold holds, the oldest first; without ``count`` for good.

        Returns how many requests go on.
        """
        [item] = self._ask("faults.release", id=self.id, count=count)
        return int(item["released"])

    def clear(self) -> None:
        """Take it away; what it holds goes on. Does nothing the second time."""
        with suppress(Refused):
            [self._last] = self._ask("faults.clear", id=self.id)

    def _item(self) -> Mapping[str, Any]:
        for item in self._ask("faults.list"):
            if item["id"] == self.id:
                return item
        return self._last

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    _last: Mapping[str, Any] = {"count": 0, "held": 0}


class Faults:
    """Arms faults; ``api`` is Kafka's name of one, None: of any.

    All methods raise `Refused` when the broker finds no sense in it; then nothing is
    armed.
    """

    def __init__(self, ask: Ask, scope: str | None = None) -> None:
        """``scope``: how the names of topics and ids begin that may be concerned."""
        self._ask = ask
        self._scope = scope
        self.rules: list[Rule] = []

    def error(
        self,
        api: str,
        code: str,
        *,
        applied: bool = False,
        force: bool = False,
        **conditions: Any,
    ) -> Rule:
        """Answer with the error of this name, undone or (``applied``) done.

        ``force``: though that API never answers it.
        """
        what = {"code": code, "applied": applied, "force": force}
        return self._arm("error", api, conditions, what)

    def drop(
        self, api: str | None = None, when: str = "before", **conditions: Any
    ) -> Rule:
        """Close the connection "before" it is done, or "after"."""
        return self._arm("drop", api, conditions, {"at": when})

    def delay(
        self,
        api: str | None,
        ms: int,
        jitter: int = 0,
        when: str = "before",
        **conditions: Any,
    ) -> Rule:
        """Do it later ("before"), or answer later ("after")."""
        what = {"ms": ms, "jitter": jitter, "at": when}
        return self._arm("delay", api, conditions, what)

    def hold(
        self, api: str | None = None, when: str = "before", **conditions: Any
    ) -> Rule:
        """The same, until `Rule.release`. What the connection asks next waits too."""
        return self._arm("hold", api, conditions, {"at": when})

    def truncate(self, api: str, bytes: int, **conditions: Any) -> Rule:
        """Send so much of the answer, its length included, and close."""
        return self._arm("truncate", api, conditions, {"bytes": bytes})

    def garble(self, api: str, bits: int = 1, **conditions: Any) -> Rule:
        """Turn over bits of the answer."""
        return self._arm("garble", api, conditions, {"bits": bits})

    def bandwidth(self, api: str | None, bytes: int, **conditions: Any) -> Rule:
        """Send so many bytes of the answer a second."""
        return self._arm("bandwidth", api, conditions, {"bytes": bytes})

    def dribble(
        self, api: str | None, bytes: int = 1, ms: int = 10, **conditions: Any
    ) -> Rule:
        """Send the answer in pieces."""
        return self._arm("dribble", api, conditions, {"bytes": bytes, "ms": ms})

    def throttle(self, api: str, ms: int, **conditions: Any) -> Rule:
        """Tell the client to be quiet for so long, as a quota would."""
        return self._arm("throttle", api, conditions, {"ms": ms})

    def versions(self, api: str, max: int, min: int = 0, **conditions: Any) -> Rule:
        """Offer these versions alone to clients that connect from now on."""
        return self._arm("versions", api, conditions, {"max": max, "min": min})

    def leader(
        self,
        topic: str,
        id: int = -1,
        host: str | None = None,
        port: int | None = None,
        **conditions: Any,
    ) -> Rule:
        """Have another node lead a topic's partitions, or none."""
        conditions["topic"] = topic
        what = {"id": id, "host": host, "port": port}
        return self._arm("leader", None, conditions, what)

    def no_coordinator(self, **conditions: Any) -> Rule:
        """Have nobody coordinate a ``group`` or ``transactional_id``."""
        return self._arm("no_coordinator", None, conditions, {})

    def disk(
        self,
        kind: str,
        *,
        ms: int | None = None,
        of: str | None = None,
        errno: str | None = None,
        **conditions: Any,
    ) -> Rule:
        """Files that are "slow" (by ``ms``, ``of`` "write" or "sync"), "full", or that
        "fail_sync", "fail_write" (with ``errno``), "short_write".
        """
        options = {"ms": ms, "of": of, "errno": errno}
        what = {name: value for name, value in options.items() if value is not None}
        return self._arm("disk", None, conditions, {"kind": kind, **what})

    def clear(self) -> None:
        """Take away what was armed here."""
        while self.rules:
            self.rules.pop().clear()

    def _arm(
        self,
        action: str,
        api: str | None,
        conditions: Mapping[str, Any],
        what: Mapping[str, Any],
    ) -> Rule:
        given = {name: value for name, value in conditions.items() if value is not None}
        when = {name: given.pop(name) for name in _WHEN if name in given}
        match = given if api is None else {"api": api, **given}
        rule: dict[str, Any] = {"match": match, "when": when, action: what}
        if self._scope is not None:
            rule["scope"] = self._scope
        try:
            [item] = self._ask("faults.arm", **rule)
        except Refused as refused:
            if refused.word == _SHARED:
                raise SharedBroker(str(refused)) from None
            raise
        made = Rule(self._ask, item)
        self.rules.append(made)
        return made
