"""A broker registers, is let in, stays, and leaves: what to ask the controller next.

It does no I/O and knows no clock: `next_question` says what to ask and after which
wait, `take` takes the answer, `lost` is told when there is none. Who drives it keeps
the times.

Invariants: there is one question at a time. The broker is not unfenced before it says
that it has applied all that there was when it registered. What it says of its place in
the metadata log is the last offset that was applied.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.broker.cluster.features import CLAIMED
from odradek.protocol.errors import ErrorCode, error_class
from odradek.protocol.messages.brokers import (
    BrokerFeature,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerListener,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

if TYPE_CHECKING:
    from odradek.broker.quorum.image.image import BrokerImage, Endpoint

NO_EPOCH: Final = -1
_SOON_MS: Final = 10
_FIRST_WAIT_FOR_STOP_MS: Final = 50
# Asked again, somebody else or later, they may be answered.
_PASSING: Final = (
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.NETWORK_EXCEPTION,
)


class Stage(Enum):
    """How far the broker is."""

    REGISTERING = auto()
    CATCHING_UP = auto()  # with what was decided before it registered
    RECOVERING = auto()  # it opens its logs, as the metadata says
    UNFENCING = auto()
    SERVING = auto()
    LEAVING = auto()  # what it leads is given to others
    GONE = auto()


NEXT: Final[dict[Stage, frozenset[Stage]]] = {
    Stage.REGISTERING: frozenset({Stage.CATCHING_UP, Stage.GONE}),
    Stage.CATCHING_UP: frozenset(
        {Stage.REGISTERING, Stage.RECOVERING, Stage.UNFENCING, Stage.LEAVING}
    ),
    Stage.RECOVERING: frozenset({Stage.REGISTERING, Stage.UNFENCING, Stage.LEAVING}),
    Stage.UNFENCING: frozenset({Stage.REGISTERING, Stage.SERVING, Stage.LEAVING}),
    Stage.SERVING: frozenset({Stage.REGISTERING, Stage.UNFENCING, Stage.LEAVING}),
    Stage.LEAVING: frozenset({Stage.GONE}),
    Stage.GONE: frozenset(),
}


class NotAdmitted(Exception):
    """The cluster will not have this broker; the message says why."""


class Identity(NamedTuple):
    """The broker as it registers. ``incarnation_id`` is new at every start.

    ``previous_epoch`` is that of the registration before, if nothing was lost since.
    """

    node_id: int
    cluster_id: str
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    directories: tuple[bytes, ...]
    rack: str | None = None
    previous_epoch: int = NO_EPOCH


class Question(NamedTuple):
    """What to ask the controller that leads, after so many milliseconds."""

    request: BrokerRegistrationRequest | BrokerHeartbeatRequest
    wait_ms: int


class Membership:
    """One broker of the cluster."""

    def __init__(self, identity: Identity, interval_ms: int) -> None:
        self.identity = identity
        self.stage = Stage.REGISTERING
        self.broker_epoch = NO_EPOCH
        self.is_fenced = True
        self.trouble = ""
        self.failed_count = 0  # questions without an answer that helps
        self._interval_ms = interval_ms
        self._applied_offset = -1
        self._is_ready = False
        self._wait_ms = 0
        self._failed_directories: dict[bytes, bool] = {}  # and if that was heard
        self._named: tuple[bytes, ...] = ()  # of these, in the last heartbeat

    def next_question(self) -> Question | None:
        """Ask this next; None: the broker may stop."""
        if self.stage is Stage.GONE:
            return None
        if self.stage is Stage.REGISTERING:
            return Question(self._registration(), self._wait_ms)
        return Question(self._heartbeat(), self._wait_ms)

    def applied(self, offset: int) -> None:
        """All of the metadata log up to ``offset`` is applied."""
        self._applied_offset = offset

    def become_ready(self) -> None:
        """The broker can serve what it is given: its logs are there."""
        self._is_ready = True
        if self.stage is Stage.RECOVERING:
            self._enter(Stage.UNFENCING, 0)

    def leave(self) -> None:
        """Stop, once others have what this broker leads."""
        if self.stage is Stage.REGISTERING:
            self._enter(Stage.GONE, 0)
        elif self.stage is not Stage.GONE:
            self._enter(Stage.LEAVING, 0)

    def lose_directory(self, directory_id: bytes) -> None:
        """A log directory has failed: say so from now on, and at once."""
        kept = tuple(x for x in self.identity.directories if x != directory_id)
        self.identity = self.identity._replace(directories=kept)
        self._failed_directories.setdefault(directory_id, False)
        if self.stage is not Stage.REGISTERING:
            self._wait_ms = 0

    def has_told(self, directory_id: bytes) -> bool:
        """Whether a controller has heard that it has failed."""
        return self._failed_directories.get(directory_id, False)

    def lost(self, reason: str) -> None:
        """There was no answer."""
        self.trouble = reason
        self.failed_count += 1
        self._wait_ms = self._interval_ms

    def take(
        self,
        response: BrokerRegistrationResponse | BrokerHeartbeatResponse,
        registered: BrokerImage | None,
    ) -> None:
        """Take in an answer; ``registered`` is what the metadata says of our id.

        Raises:
            NotAdmitted: the cluster will not have us.
        """
        if self.stage is Stage.GONE:
            return  # asked before the stop: nobody goes by it any more
        if response.error_code:
            self._refused(response.error_code, registered)
        elif isinstance(response, BrokerRegistrationResponse):
            self.trouble = ""
            self.broker_epoch = response.broker_epoch
            self._enter(Stage.CATCHING_UP, 0)
        elif self.stage is not Stage.REGISTERING:
            self.trouble = ""
            self._follow(response)
            if not all(self._failed_directories.values()):
                self._wait_ms = 0  # one has failed since it was asked

    # Questions

    def _registration(self) -> BrokerRegistrationRequest:
        identity = self.identity
        return BrokerRegistrationRequest(
            broker_id=identity.node_id,
            cluster_id=identity.cluster_id,
            incarnation_id=identity.incarnation_id,
            listeners=[
                BrokerListener(
                    name=each.name,
                    host=each.host,
                    port=each.port,
                    security_protocol=each.security_protocol,
                )
                for each in identity.endpoints
            ],
            features=[
                BrokerFeature(
                    name=each.name,
                    min_supported_version=each.level_min,
                    max_supported_version=each.level_max,
                )
                for each in CLAIMED
            ],
            rack=identity.rack,
            log_dirs=list(identity.directories),
            previous_broker_epoch=identity.previous_epoch,
        )

    def _heartbeat(self) -> BrokerHeartbeatRequest:
        self._named = tuple(self._failed_directories)
        is_recovered = self.stage not in (Stage.CATCHING_UP, Stage.REGISTERING)
        return BrokerHeartbeatRequest(
            broker_id=self.identity.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._applied_offset,
            want_fence=self.stage in (Stage.CATCHING_UP, Stage.RECOVERING),
            want_shut_down=self.stage is Stage.LEAVING,
            offline_log_dirs=list(self._named),
            cordoned_log_dirs=[] if is_recovered else None,
        )

    # Answers

    def _follow(self, response: BrokerHeartbeatResponse) -> None:
        self.is_fenced = response.is_fenced
        self._failed_directories |= dict.fromkeys(self._named, True)
        if self.stage is Stage.LEAVING:
            if response.should_shut_down:
                self._enter(Stage.GONE, 0)
            else:
                is_first = not self._wait_ms
                self._wait_ms = (
                    _FIRST_WAIT_FOR_STOP_MS if is_first else self._interval_ms
                )
        elif self.stage is Stage.CATCHING_UP:
            if not response.is_caught_up:
                self._wait_ms = _SOON_MS
            elif self._is_ready:
                self._enter(Stage.UNFENCING, 0)
            else:
                self._enter(Stage.RECOVERING, 0)
        elif self.stage is Stage.RECOVERING:
            self._wait_ms = self._interval_ms
        elif response.is_fenced:
            # The controllers have not heard of us for a while, or not yet.
            if self.stage is Stage.SERVING:
                self._enter(Stage.UNFENCING, 0)
            else:
                self._wait_ms = _SOON_MS
        else:
            if self.stage is Stage.UNFENCING:
                self._enter(Stage.SERVING, 0)
            self._wait_ms = self._interval_ms

    def _refused(self, code: int, registered: BrokerImage | None) -> None:
        error = error_class(code)
        node_id, cluster_id = self.identity.node_id, self.identity.cluster_id
        if code == ErrorCode.STALE_BROKER_EPOCH:
            self._taken_for_another(registered)
        elif code == ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            # That of a process which was killed is free once its session is over.
            self.lost(f"node.id {node_id} is in use by another broker of the cluster")
        elif code == ErrorCode.INCONSISTENT_CLUSTER_ID:
            raise NotAdmitted(
                f"the controllers are of another cluster than {cluster_id}, which is"
                " this broker's"
            )
        elif code == ErrorCode.UNSUPPORTED_VERSION:
            raise NotAdmitted(
                "the controllers find that this broker lacks a feature of the cluster"
            )
        elif code == ErrorCode.INVALID_REGISTRATION:
            raise NotAdmitted(
                "the controllers refuse the registration: an id of a log directory is"
                " used twice, or by another broker, or there is no metadata.version"
            )
        elif code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise NotAdmitted(
                "the controllers do not let this broker register: its user needs"
                " CLUSTER_ACTION on the cluster"
            )
        elif code in _PASSING or self.stage is not Stage.REGISTERING:
            self.lost(str(error()))
        else:
            raise NotAdmitted(f"the controllers refuse the registration: {error()}")

    def _taken_for_another(self, registered: BrokerImage | None) -> None:
        """The controllers do not know our epoch (any more)."""
        identity = self.identity
        # An older one may be that of the process before this one.
        if registered is not None and registered.epoch > self.broker_epoch:
            raise NotAdmitted(
                f"another broker has registered with node.id {identity.node_id}"
            )
        if self.stage is Stage.LEAVING:
            self._enter(Stage.GONE, 0)
        else:
            self.is_fenced = True
            self._enter(Stage.REGISTERING, self._interval_ms)

    def _enter(self, stage: Stage, wait_ms: int) -> None:
        assert stage is self.stage or stage in NEXT[self.stage], (self.stage, stage)
        self.stage, self._wait_ms = stage, wait_ms
