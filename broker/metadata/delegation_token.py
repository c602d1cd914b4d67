"""A delegation token (KIP-48): somebody's login, lent for a while.

What it logs in with, its hmac, is no part of it: that can be computed of the id and the
broker's secret, and is kept nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class DelegationToken(NamedTuple):
    """Whose it is, who may let it hold for longer, and until when it holds.

    Principals are written ``User:alice``; times are milliseconds of the wall clock.
    """

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_ms: int
    expiry_ms: int
    max_ms: int

    @classmethod
    def read(cls, row: Sequence[Any]) -> DelegationToken:
        """The token as the catalogue has it."""
        import json  # a broker without tokens does without it

        token_id, owner, requester, renewers, *times = row
        return cls(token_id, owner, requester, tuple(json.loads(renewers)), *times)

    def row(self) -> tuple[str, str, str, str, int, int, int]:
        """As the catalogue has it."""
        import json

        return (*self[:3], json.dumps(self.renewers), *self[4:])

    def has_expired(self, now_ms: int) -> bool:
        """Whether nobody gets in with it any more."""
        return self.expiry_ms < now_ms or self.max_ms < now_ms

    def may_be_renewed_by(self, principal: str) -> bool:
        """Whether ``principal`` may change how long it holds."""
        return principal == self.owner or principal in self.renewers

    def concerns(self, principal: str) -> bool:
        """Whether ``principal`` owns it, has asked for it, or may renew it."""
        return principal == self.requester or self.may_be_renewed_by(principal)
