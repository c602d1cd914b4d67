"""What a mechanism of SASL is to the gate: tokens to and fro, then a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Coroutine

USER = "User:"  # the type of principal that there is


class Identity(NamedTuple):
    """Who has logged in; until when that holds, by the wall clock, None for good."""

    principal: str
    expires_ms: int | None = None
    is_by_token: bool = False


class LoginRefused(Exception):
    """A login has failed; says why, for the log and never for the client.

    ``told`` is what the client is told in place of the usual words.
    """

    def __init__(self, reason: str, told: str = "") -> None:
        super().__init__(reason)
        self.told = told


class LoginBusy(Exception):
    """Nobody can say now whether a login is good; it may come again."""


class Negotiation(Protocol):
    """One login by one mechanism.

    ``claimed`` is who the client says it is, as far as it has said so; ``identity``
    who it has shown to be. Then the exchange is over.
    """

    claimed: str
    identity: Identity | None

    def step(self, token: bytes) -> bytes | Coroutine[None, None, bytes]:
        """The answer to the client's next token; of a coroutine, what it returns.

        Raises:
            LoginRefused: it is not let in.
            LoginBusy: not now.
        """


class Mechanism(Protocol):
    """One of the mechanisms of a listener."""

    @property
    def name(self) -> str:
        """As clients know it."""

    def begin(self) -> Negotiation:
        """A login begins."""

    def close(self) -> None:
        """Nobody logs in by it any more."""


class OtherMechanism:
    """A login again by another mechanism than the first time, which is not possible."""

    def __init__(self, wanted: str, before: str) -> None:
        self._told = (
            f"SASL mechanism '{wanted}' requested by client is not supported for"
            f" re-authentication of mechanism '{before}'"
        )
        self.claimed = ""
        self.identity: Identity | None = None

    def step(self, token: bytes) -> bytes:
        """Refuse the first token, as Apache Kafka does; the choice it accepts.

        Raises:
            LoginRefused: always.
        """
        raise LoginRefused("by another mechanism than before", self._told)
