"""Short ways to answers, and whose they are.

What a client's requests repeat is known by their bytes, and so is what was decided
about it: whether this client may take the short way, and what is measured of it. That
is asked when a request is learnt, never again: a short way costs the same whatever
there is to decide.

Invariants: clients of two users share nothing that is remembered. When anything changes
on which a decision rests, all that was remembered is forgotten at once
(``UsersShortWays.forget``), and no connection goes on with what it had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from .registry import shortcut_maker

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.protocol.schema import Request

    from .dispatch import Route
    from .registry import Shortcut
    from .services import Services

    # (user, client id, request) -> whether it may take the short way of its user
    Rule = Callable[[str, str | None, Request], bool]
    Surround = Callable[[Route, Shortcut], Shortcut]

# Of so many users that no connection has any more.
USERS_MAX = 1000


def _anybody(user: str, client_id: str | None, request: Any) -> bool:
    return True


def _nothing(route: Route, shortcut: Shortcut) -> Shortcut:
    return shortcut


class ShortWays:
    """The short ways of those clients of a user that are treated alike."""

    __slots__ = ("__weakref__", "_rule", "by_api", "is_stale", "surround", "user")

    def __init__(
        self, user: str, rule: Rule = _anybody, surround: Surround = _nothing
    ) -> None:
        """``rule`` says for whom they are; ``surround`` puts something around each."""
        self.user = user
        self.surround = surround
        self.is_stale = False
        # By the bytes of API key and version; None where there is no short way.
        self.by_api: dict[bytes, tuple[Route, Shortcut] | None] = {}
        self._rule = rule

    def admits(self, client_id: str | None, request: Request) -> bool:
        """Whether requests like this one, of this client, may go here."""
        return self._rule(self.user, client_id, request)

    def learn(self, api: bytes, route: Route, services: Services) -> None:
        """What way the requests go that begin with ``api``."""
        handler, version = route.handler, route.api_version
        make = shortcut_maker(handler.request_class, version)
        if make is None or not handler.handles_version(version):
            self.by_api[api] = None
        else:
            shortcut = make(services, version, self)
            self.by_api[api] = route, self.surround(route, shortcut)

    def forget(self) -> None:
        """Let nobody find anything here, nor remember it."""
        self.by_api.clear()
        self.is_stale = True


# What a connection has until its first request.
NO_SHORT_WAYS = ShortWays("")
NO_SHORT_WAYS.is_stale = True


class UsersShortWays:
    """The short ways of all users."""

    def __init__(self) -> None:
        self._rule: Rule = _anybody
        self._by_user: dict[str, ShortWays] = {}
        self._living: WeakSet[ShortWays] = WeakSet()

    def of(self, user: str) -> ShortWays:
        """Those of a user's clients of whom nothing is measured."""
        ways = self._by_user.get(user)
        if ways is None:
            if len(self._by_user) >= USERS_MAX:
                self._by_user.clear()  # connections keep theirs
            ways = self._by_user[user] = self.add(ShortWays(user, self._rule))
        return ways

    def add(self, ways: ShortWays) -> ShortWays:
        """``ways`` is forgotten with all others."""
        self._living.add(ways)
        return ways

    def forget(self) -> None:
        """Something has changed: let all be learnt anew."""
        for ways in self._living:
            ways.forget()
        self._living.clear()
        self._by_user.clear()

    def admit(self, rule: Rule | None) -> None:
        """From now on ``rule`` says who may take a short way; None: anybody may."""
        self._rule = rule or _anybody
        self.forget()
