"""What a client may ask before it has logged in, and how it logs in: one gate each.

Invariants: before the login nothing is decoded but the requests of a login, and nothing
reaches the dispatcher but ApiVersions. The answer to a login that failed waits, is the
same whether the user exists or not, and is the last thing that the client is told.

In version 0 of SaslHandshake the tokens that follow are frames of their own, without
headers; from version 1 on they are in SaslAuthenticate, whose answers have a place for
errors and for how long the login holds. When that time is over the client may log in
again on the same connection (KIP-368), as the same user; everything else closes it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from odradek.broker.requests.dispatch import Exchange
from odradek.broker.requests.in_pieces import InPieces
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, IllegalSaslState, MalformedRequest
from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.protocol.messages.sasl import (
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)

from .login_audit import note_login, told
from .mechanism import LoginBusy, LoginRefused, OtherMechanism
from .token_route import TOKEN_ROUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Dispatcher, Entry, Route
    from odradek.broker.runtime.clock import TimerHandle

    from .logins import Logins
    from .mechanism import Identity, Negotiation

# Between two logins on one connection, as in Apache Kafka.
REAUTHENTICATION_INTERVAL_MS = 1_000


class GateState(Enum):
    """How far a client is."""

    START = "has said nothing, or asked for versions"
    MECHANISM = "has chosen a mechanism, and sends its tokens"
    OPEN = "is in"
    REAUTH = "is in, and logs in once more"
    SHUT = "was refused, or is late: nothing more is read"

    # Python's own hashes the name, for half a microsecond.
    __hash__ = object.__hash__


class GateAction(Enum):
    """What becomes of a request."""

    VERSIONS = "passed on once; once more after UNSUPPORTED_VERSION"
    HANDSHAKE = "a mechanism is chosen"
    TOKEN = "a step of the login"
    AGAIN = "a login begins anew, if this one ends"
    PASS = "passed on"
    REFUSE = "ILLEGAL_SASL_STATE, and the connection closes"
    CLOSE = "the connection closes"


ACTIONS: Final[dict[GateState, dict[int, GateAction]]] = {
    GateState.START: {
        ApiKey.API_VERSIONS: GateAction.VERSIONS,
        ApiKey.SASL_HANDSHAKE: GateAction.HANDSHAKE,
    },
    GateState.MECHANISM: {ApiKey.SASL_AUTHENTICATE: GateAction.TOKEN},
    GateState.OPEN: {ApiKey.SASL_HANDSHAKE: GateAction.AGAIN},
    GateState.REAUTH: {ApiKey.SASL_AUTHENTICATE: GateAction.TOKEN},
    GateState.SHUT: {},
}
"""What is done with the requests that a state knows."""

OTHERWISE: Final = {
    GateState.START: GateAction.CLOSE,
    GateState.MECHANISM: GateAction.REFUSE,
    GateState.OPEN: GateAction.PASS,
    GateState.REAUTH: GateAction.REFUSE,
    GateState.SHUT: GateAction.CLOSE,
}
"""And with all others."""


class Gate:
    """The gate of one connection; ``on_login`` is told whether the login may end."""

    __slots__ = (
        "_began_ms",
        "_dispatcher",
        "_ends_ms",
        "_identity",
        "_is_bare",
        "_logins",
        "_may_ask_versions",
        "_mechanism",
        "_negotiation",
        "_on_login",
        "_timer",
        "state",
    )

    def __init__(
        self, logins: Logins, dispatcher: Dispatcher, on_login: Callable[[bool], None]
    ) -> None:
        self._logins = logins
        self._dispatcher = dispatcher
        self._on_login = on_login
        self._may_ask_versions = True
        self._is_bare = False  # tokens have no headers
        self._mechanism = ""
        self._negotiation: Negotiation | None = None
        self._identity: Identity | None = None
        self._began_ms = 0  # the last login again
        self._ends_ms: int | None = None  # what it holds until, by the monotonic clock
        self._timer: TimerHandle | None = None
        self.state = GateState.START

    def meet(
        self, entry: Entry, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """What becomes of the request in ``frame``.

        Raises:
            MalformedRequest: the connection closes, at once and without an answer.
        """
        if self._is_bare and self.state is GateState.MECHANISM:
            return self._step(connection, TOKEN_ROUTE, 0, bytes(frame))
        key = int.from_bytes(frame[:2], "big") if len(frame) > 1 else -1
        action = ACTIONS[self.state].get(key, OTHERWISE[self.state])
        if action is GateAction.AGAIN and not self._may_begin_again(frame):
            action = GateAction.PASS  # to who refuses it
        if action is GateAction.PASS:
            if self._ends_ms is not None:
                self._check_end(connection)
            return entry(connection, frame)
        if action is GateAction.VERSIONS:
            self._ask_versions(frame)
            return entry(connection, frame)
        if action is GateAction.TOKEN:
            route, header, request = self._dispatcher.read(frame)
            token = bytes(request.auth_bytes)  # type: ignore[attr-defined]
            return self._step(connection, route, header.correlation_id, token)
        if action is GateAction.REFUSE:
            return self._refuse(connection, frame)
        if action is GateAction.CLOSE:
            raise MalformedRequest(self._logins.advice(key))
        return self._handshake(connection, frame)

    def end(self) -> None:
        """The connection is gone."""
        self.state = GateState.SHUT
        if self._timer is not None:
            self._timer.cancel()

    # Before the tokens

    def _ask_versions(self, frame: memoryview) -> None:
        if not self._may_ask_versions:
            raise MalformedRequest("it asks for versions again in place of logging in")
        self._may_ask_versions = _version(frame) > ApiVersionsRequest.max_version

    def _handshake(self, connection: ConnectionInfo, frame: memoryview) -> Exchange:
        version = _version(frame)
        if not 0 <= version <= 1:
            raise MalformedRequest(f"SaslHandshake v{version} before a login")
        route, header, request = self._dispatcher.read(frame)
        wanted: str = request.mechanism  # type: ignore[attr-defined]
        logins = self._logins
        mechanism = logins.mechanisms.get(wanted)
        response = SaslHandshakeResponse(mechanisms=list(logins.mechanisms))
        if mechanism is None:
            response.error_code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            self._shut(connection, "", "", f"by {told(wanted)}, which is not there")
            return Exchange(route, header.correlation_id, response, None)
        is_again = self.state is GateState.OPEN
        self._negotiation = mechanism.begin()
        if is_again and wanted != self._mechanism:
            self._negotiation = OtherMechanism(wanted, self._mechanism)
        self._is_bare = header.api_version == 0
        self._mechanism = wanted
        self.state = GateState.REAUTH if is_again else GateState.MECHANISM
        answer = InPieces(response) if is_again else response
        return Exchange(route, header.correlation_id, answer, None)

    def _refuse(self, connection: ConnectionInfo, frame: memoryview) -> Exchange:
        """Say that this is no time for it, where its answer has a place for that."""
        header, _ = self._dispatcher.read_header(frame)
        route = self._dispatcher.route_of(header)
        if not _has_error(route):
            raise MalformedRequest(f"{route.name} in place of a token")
        error = IllegalSaslState(f"{route.api_name} in place of a token")
        response = self._dispatcher.failure(route, None, error)
        self._shut(connection, self._mechanism, self._claimed, str(error))
        return Exchange(route, header.correlation_id, response, None)

    # Tokens

    @property
    def _claimed(self) -> str:
        return "" if self._negotiation is None else self._negotiation.claimed

    def _step(
        self,
        connection: ConnectionInfo,
        route: Route,
        correlation_id: int,
        token: bytes,
    ) -> Exchange:
        negotiation = self._negotiation
        assert negotiation is not None
        answer: Any
        try:
            stepped = negotiation.step(token)
            if isinstance(stepped, bytes):
                answer = self._answer(connection, route, stepped)
            else:
                answer = self._wait(connection, route, stepped)
        except LoginRefused as refusal:
            answer = self._fail(connection, route, refusal)
        except LoginBusy as busy:
            raise MalformedRequest(str(busy)) from busy
        return Exchange(route, correlation_id, answer, None)

    async def _wait(
        self,
        connection: ConnectionInfo,
        route: Route,
        stepping: Coroutine[None, None, bytes],
    ) -> Any:
        """The answer, or what brings it, of a mechanism that has to wait itself."""
        try:
            return self._answer(connection, route, await stepping)
        except LoginRefused as refusal:
            return self._fail(connection, route, refusal)
        except LoginBusy as busy:
            raise MalformedRequest(str(busy)) from busy

    def _answer(self, connection: ConnectionInfo, route: Route, token: bytes) -> Any:
        """The answer to a token; with the last one, the client is in.

        Raises:
            LoginRefused: as somebody else than before.
        """
        negotiation = self._negotiation
        if self.state is GateState.SHUT or negotiation is None:
            return NO_RESPONSE  # the client has left meanwhile
        identity, lifetime_ms = negotiation.identity, 0
        if identity is not None:
            lifetime_ms = self._let_in(connection, identity)
        if route is TOKEN_ROUTE:
            return token
        return SaslAuthenticateResponse(
            error_message=None, auth_bytes=token, session_lifetime_ms=lifetime_ms
        )

    def _let_in(self, connection: ConnectionInfo, identity: Identity) -> int:
        """Returns for how long, 0 for good."""
        before, logins = self._identity, self._logins
        if before is not None and before.principal != identity.principal:
            raise LoginRefused(
                f"as {told(identity.principal)}, and was {told(before.principal)}",
                "Cannot change principals during re-authentication from "
                f"{before.principal}: {identity.principal}",
            )
        lifetime_ms = logins.lifetime_ms(self._mechanism, identity)
        if lifetime_ms is not None and lifetime_ms <= 0:
            raise LoginRefused("what it logs in with has expired")
        self._ends_ms = None
        if lifetime_ms is not None:
            self._ends_ms = logins.clock.monotonic_ms() + lifetime_ms
        if before is None:
            connection.become(identity.principal)
        connection.is_by_token = identity.is_by_token
        self._identity = identity
        note_login(connection, self._mechanism, self._claimed)
        logins.counts.note_success(self._mechanism, is_again=before is not None)
        self.state, self._negotiation = GateState.OPEN, None
        self._on_login(lifetime_ms is not None)
        return lifetime_ms or 0

    # Refusals

    def _fail(
        self, connection: ConnectionInfo, route: Route, refusal: LoginRefused
    ) -> Any:
        """What is answered in the end; nothing more is read until then."""
        mechanism = self._mechanism
        response: Any = NO_RESPONSE
        if route is not TOKEN_ROUTE:
            response = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
                error_message=refusal.told or _usual_words(mechanism),
            )
        is_gone = self.state is GateState.SHUT
        self._shut(connection, mechanism, self._claimed, str(refusal))
        delay_ms = self._logins.delay.after_failure(connection.peer_host)
        if not delay_ms or is_gone:
            return response
        answer: Parked[Any] = Parked()

        def tell() -> None:
            answer.set_result(response)

        self._timer = self._logins.clock.call_later(delay_ms, tell)
        return answer

    def _shut(
        self, connection: ConnectionInfo, mechanism: str, claimed: str, why: str
    ) -> None:
        """Start nothing more, and close when what is answered has left."""
        note_login(connection, mechanism, claimed, why)
        self._logins.counts.note_failure(mechanism)
        self.state, self._negotiation = GateState.SHUT, None
        connection.close()

    # Logins that end

    def _check_end(self, connection: ConnectionInfo) -> None:
        assert self._ends_ms is not None
        if self._logins.clock.monotonic_ms() >= self._ends_ms:
            self._logins.counts.expired += 1
            raise MalformedRequest(
                f"the login of {told(connection.principal)} has ended, and it has not"
                " logged in again"
            )

    def _may_begin_again(self, frame: memoryview) -> bool:
        if self._ends_ms is None:
            return False
        header, _ = self._dispatcher.read_header(frame)
        now_ms = self._logins.clock.monotonic_ms()
        if header.api_version != 1 or (
            self._began_ms and now_ms - self._began_ms < REAUTHENTICATION_INTERVAL_MS
        ):
            return False
        self._began_ms = now_ms
        return True


def _version(frame: memoryview) -> int:
    """The version of the request; whatever else may be wrong is seen later."""
    return int.from_bytes(frame[2:4], "big", signed=True)


def _has_error(route: Route) -> bool:
    """Whether its answer says what is wrong with all of it."""
    return any(
        field.name == "error_code" and field.versions.cover(route.api_version)
        for field in route.response_class.fields
    )


def _usual_words(mechanism: str) -> str:
    """As Apache Kafka says it."""
    return (
        "Authentication failed during authentication due to invalid credentials with"
        f" SASL mechanism {mechanism}"
    )
