"""The authorizer: the entries that there are, and who may do what by them.

Invariant: whoever asks for an `Access` gets one of the entries as they are now. A
change of them drops all of these at once, and then calls who keeps what was decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .access import Access, Rules
from .acl_index import AclIndex, plain_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.metadata.acls import Acls

    from .denials import Denials

ACCESSES_MAX = 10_000
_ANY_HOST = ""


class Authorizer:
    """Decides for the whole broker. ``denials`` notes what was refused."""

    def __init__(
        self,
        acls: Acls,
        denials: Denials,
        super_users: frozenset[str] = frozenset(),
        allows_untouched: bool = False,
    ) -> None:
        self.acls = acls
        self.denials = denials
        self._super_users = super_users
        self._allows_untouched = allows_untouched
        self._watchers: list[Callable[[], object]] = []
        self._accesses: dict[tuple[str, str], Access] = {}
        self._build()
        acls.watch(self._renew)

    def access_of(self, principal: str, host: str) -> Access:
        """What the principal may do from there."""
        key = principal, host if self._names_hosts else _ANY_HOST
        access = self._accesses.get(key)
        if access is None:
            if len(self._accesses) >= ACCESSES_MAX:
                self._accesses.clear()
            access = Access(self._rules, principal, plain_host(key[1]))
            self._accesses[key] = access
        return access

    def host_of(self, host: str) -> str:
        """``host``, if entries know hosts apart; else what stands for all of them."""
        return host if self._names_hosts else _ANY_HOST

    def watch(self, watcher: Callable[[], object]) -> None:
        """Call ``watcher`` when entries have changed."""
        self._watchers.append(watcher)

    def _renew(self) -> None:
        self._build()
        self._accesses.clear()
        for watcher in self._watchers:
            watcher()

    def _build(self) -> None:
        index = AclIndex(self.acls)
        self._names_hosts = index.names_hosts
        self._rules = Rules(index, self._super_users, self._allows_untouched)
