"""Short ways to answers, and whose they are.

What a client's requests repeat is known by their bytes, and so is what was decided
about it: whether this client may take the short way, and what is measured of it. That
is asked when a request is learnt, never again: a short way costs the same whatever
there is to decide.

Invariants: clients of two users share nothing that is remembered; nor do those of one
user from two hosts, where access control lists know hosts apart. When anything changes
on which a decision rests, all that was remembered is forgotten at once
(``UsersShortWays.forget``), and no connection goes on with what it had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from .registry import shortcut_maker

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.metadata.access.access import Access
    from odradek.broker.metadata.access.authorizer import Authorizer
    from odradek.protocol.schema import Request

    from .context import ConnectionInfo
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

    __slots__ = (
        "__weakref__",
        "_rule",
        "access",
        "by_api",
        "is_stale",
        "surround",
        "user",
    )

    def __init__(
        self,
        user: str,
        rule: Rule = _anybody,
        surround: Surround = _nothing,
        access: Access | None = None,
    ) -> None:
        """``rule`` says for whom they are; ``surround`` puts something around each.

        ``access`` is what these clients may do; None: everything.
        """
        self.user = user
        self.access = access
        self.surround = surround
        self.is_stale = False
        # By the bytes of API key and version; None where there is no short way.
        self.by_api: dict[bytes, tuple[Route, Shortcut] | None] = {}
        self._rule = rule

    def admits(self, client_id: str | None, request: Request) -> bool:
        """Whether requests like this one, of this client, may go here."""
        return self._rule(self.user, client_id, request)

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Whether these clients may do that."""
        access = self.access
        return access is None or access.may(operation, resource_type, name)

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

    def __init__(self, authorizer: Authorizer | None = None) -> None:
        self._authorizer = authorizer
        self._rule: Rule = _anybody
        self._by_user: dict[tuple[str, str], ShortWays] = {}
        self._living: WeakSet[ShortWays] = WeakSet()
        if authorizer is not None:
            authorizer.watch(self.forget)

    def of(self, connection: ConnectionInfo) -> ShortWays:
        """Those of a user's clients of whom nothing is measured."""
        key = connection.user, self.host_of(connection)
        ways = self._by_user.get(key)
        if ways is None:
            if len(self._by_user) >= USERS_MAX:
                self._by_user.clear()  # connections keep theirs
            access = self.access_of(connection)
            ways = self.add(ShortWays(key[0], self._rule, access=access))
            self._by_user[key] = ways
        return ways

    def host_of(self, connection: ConnectionInfo) -> str:
        """The client's host, where hosts are to be known apart."""
        if self._authorizer is None:
            return ""
        return self._authorizer.host_of(connection.peer_host)

    def access_of(self, connection: ConnectionInfo) -> Access | None:
        """What the client may do; None: there is no authorizer."""
        if self._authorizer is None:
            return None
        return self._authorizer.access_of(connection.principal, connection.peer_host)

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
