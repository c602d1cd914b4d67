"""Delegation tokens as what somebody logs in with: SCRAM, id and hmac for a password.

A key of the hmac is made when a token first logs in by a mechanism, in a thread, and is
kept in memory.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from odradek.broker.metadata.scram_credentials import ScramCredential
from odradek.protocol.scram import ITERATIONS_MIN

from .mechanism import Identity

if TYPE_CHECKING:
    from odradek.broker.metadata.delegation_tokens import DelegationTokens
    from odradek.protocol.scram import Mechanism

    from .decoy import Decoy
    from .hashing import PasswordHashing

_KEPT_MAX = 10_000


class StoredTokens:
    """Those of the cluster; ``decoy`` has the salts, which no user can tell."""

    def __init__(
        self, tokens: DelegationTokens, hashing: PasswordHashing, decoy: Decoy
    ) -> None:
        self._tokens = tokens
        self._hashing = hashing
        self._decoy = decoy
        self._kept: dict[tuple[str, Mechanism], ScramCredential] = {}

    def is_known(self, token_id: str) -> bool:
        """Whether there is such a token, and it holds."""
        return self._tokens.get(token_id) is not None

    async def credential(self, token_id: str, mechanism: Mechanism) -> ScramCredential:
        """What its hmac is checked with.

        Raises:
            LoginBusy: too many wait already.
        """
        key = token_id, mechanism
        if key not in self._kept:
            password = b64encode(self._tokens.hmac_of(token_id)).decode()
            salt = self._decoy.salt(token_id, mechanism)
            hashed = await self._hashing.salted(
                password, salt, ITERATIONS_MIN, mechanism.algorithm
            )
            if len(self._kept) >= _KEPT_MAX:
                self._kept.clear()
            self._kept[key] = ScramCredential.of(
                mechanism, ITERATIONS_MIN, salt, hashed
            )
        return self._kept[key]

    def identity(self, token_id: str) -> Identity | None:
        """Whom the token stands for, while it holds."""
        token = self._tokens.get(token_id)
        if token is None:
            return None
        return Identity(token.owner, token.expiry_ms, is_by_token=True)
