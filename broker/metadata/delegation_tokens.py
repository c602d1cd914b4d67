"""The delegation tokens of the cluster: as the catalogue keeps them, and their hmacs.

Invariants: a token that is here is durable; a change is decided in the catalogue's
queue, on what everything before it has left. An hmac is HMAC-SHA-512 of the token's id
under the broker's secret, in memory alone: who reads the catalogue, or a backup of it,
cannot log in with what is there.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.errors import (
    DelegationTokenExpired,
    DelegationTokenNotFound,
    DelegationTokenOwnerMismatch,
    PolicyViolation,
)
from odradek.protocol.uuids import random_uuid, to_text

from .catalog.catalog import Catalog, Change
from .delegation_token import DelegationToken

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.runtime.clock import Clock

TOKENS_MAX = 100_000
_INT64_MAX = (1 << 63) - 1


class TokenTimes(NamedTuple):
    """For how long tokens hold: at most, and until they have to be renewed."""

    max_lifetime_ms: int
    renewal_ms: int


class DelegationTokens:
    """All tokens, by id and by hmac."""

    def __init__(
        self, catalog: Catalog, clock: Clock, secret: str, times: TokenTimes
    ) -> None:
        self._catalog = catalog
        self._clock = clock
        self._secret = secret.encode()
        self._times = times
        known = map(DelegationToken.read, catalog.store.tokens())
        self._tokens = {token.token_id: token for token in known}
        self._ids = {self.hmac_of(token_id): token_id for token_id in self._tokens}

    @classmethod
    def of(
        cls, config: BrokerConfig, catalog: Catalog, clock: Clock
    ) -> DelegationTokens:
        """Those of a broker whose options have a secret."""
        secret = config.delegation_token_secret_key
        assert secret
        times = TokenTimes(
            config.delegation_token_max_lifetime_ms,
            config.delegation_token_expiry_time_ms,
        )
        return cls(catalog, clock, secret, times)

    def __iter__(self) -> Iterator[DelegationToken]:
        """The tokens, also those that have expired and are not removed yet."""
        return iter(self._tokens.values())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._tokens)

    def get(self, token_id: str) -> DelegationToken | None:
        """The token with this id, if it holds."""
        token = self._tokens.get(token_id)
        if token is None or token.has_expired(self._clock.now_ms()):
            return None
        return token

    def hmac_of(self, token_id: str) -> bytes:
        """The secret of a token."""
        return hmac.digest(self._secret, token_id.encode(), "sha512")

    async def create(
        self,
        owner: str,
        requester: str,
        renewers: tuple[str, ...],
        max_lifetime_ms: int,
    ) -> DelegationToken:
        """A new token; ``max_lifetime_ms`` of 0 or less is the longest there is.

        Raises:
            PolicyViolation: there are too many.
            KafkaStorageError: the catalogue cannot be written.
        """

        def decide() -> Change:
            if len(self._tokens) >= TOKENS_MAX:
                raise PolicyViolation(f"There are {TOKENS_MAX} delegation tokens")
            now_ms = self._clock.now_ms()
            longest_ms, renewal_ms = self._times
            if max_lifetime_ms > 0:
                longest_ms = min(longest_ms, max_lifetime_ms)
            max_ms = _sum(now_ms, longest_ms)
            token = DelegationToken(
                to_text(random_uuid()),
                owner,
                requester,
                renewers,
                now_ms,
                min(max_ms, _sum(now_ms, renewal_ms)),
                max_ms,
            )
            return self._putting(token, token)

        token: DelegationToken = await self._catalog.change(decide)
        return token

    async def renew(self, secret: bytes, principal: str, period_ms: int) -> int:
        """Let a token hold for longer; until when it does then.

        Raises:
            DelegationTokenNotFound, DelegationTokenExpired,
            DelegationTokenOwnerMismatch: in this order.
            KafkaStorageError: the catalogue cannot be written.
        """

        def decide() -> Change:
            now_ms = self._clock.now_ms()
            token = self._found(secret)
            if token.has_expired(now_ms):
                raise DelegationTokenExpired
            _check_owner(token, principal)
            longest_ms = self._times.renewal_ms
            if period_ms > 0:
                longest_ms = min(longest_ms, period_ms)
            expiry_ms = min(token.max_ms, _sum(now_ms, longest_ms))
            return self._putting(token._replace(expiry_ms=expiry_ms), expiry_ms)

        expiry_ms: int = await self._catalog.change(decide)
        return expiry_ms

    async def expire(self, secret: bytes, principal: str, period_ms: int) -> int:
        """Let a token hold for so long and no longer; remove it if that is negative.

        Returns until when it holds then.

        Raises:
            DelegationTokenNotFound, DelegationTokenOwnerMismatch,
            DelegationTokenExpired: in this order.
            KafkaStorageError: the catalogue cannot be written.
        """

        def decide() -> Change:
            now_ms = self._clock.now_ms()
            token = self._found(secret)
            _check_owner(token, principal)
            if period_ms < 0:
                return self._removing([token], now_ms)
            if token.has_expired(now_ms):
                raise DelegationTokenExpired
            expiry_ms = min(token.max_ms, _sum(now_ms, period_ms))
            return self._putting(token._replace(expiry_ms=expiry_ms), expiry_ms)

        expiry_ms: int = await self._catalog.change(decide)
        return expiry_ms

    async def replace(self, tokens: Collection[DelegationToken]) -> None:
        """Have these tokens and no others.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """

        def decide() -> Change:
            wanted = {token.token_id: token for token in tokens}
            gone = [each for each in self._tokens if each not in wanted]
            put = [x for x in wanted.values() if self._tokens.get(x.token_id) != x]

            def apply(_: None) -> None:
                self._tokens = wanted
                self._ids = {self.hmac_of(token_id): token_id for token_id in wanted}

            return Change(apply, lambda store: store.change_tokens(gone, put), True)

        await self._catalog.change(decide)

    async def remove_expired(self) -> int:
        """Forget those that hold no more; how many.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """

        def decide() -> Change:
            now_ms = self._clock.now_ms()
            gone = [x for x in self._tokens.values() if x.has_expired(now_ms)]
            return self._removing(gone, len(gone))

        count: int = await self._catalog.change(decide)
        return count

    def _found(self, secret: bytes) -> DelegationToken:
        token_id = self._ids.get(bytes(secret))
        if token_id is None:
            raise DelegationTokenNotFound
        return self._tokens[token_id]

    def _putting(self, token: DelegationToken, answer: Any) -> Change:
        def apply(_: None) -> Any:
            self._tokens[token.token_id] = token
            self._ids[self.hmac_of(token.token_id)] = token.token_id
            return answer

        return Change(apply, lambda store: store.change_tokens([], [token]), True)

    def _removing(self, gone: list[DelegationToken], answer: int) -> Change:
        ids = [token.token_id for token in gone]

        def apply(_: None) -> int:
            for token_id in ids:
                del self._tokens[token_id]
                del self._ids[self.hmac_of(token_id)]
            return answer

        if not ids:
            return Change(lambda _: answer)
        return Change(apply, lambda store: store.change_tokens(ids, []), True)


def _check_owner(token: DelegationToken, principal: str) -> None:
    if not token.may_be_renewed_by(principal):
        raise DelegationTokenOwnerMismatch


def _sum(now_ms: int, more_ms: int) -> int:
    """A time that fits into what clients are told."""
    return min(now_ms + more_ms, _INT64_MAX)
