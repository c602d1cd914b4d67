"""Controllers that brokers register with: they answer from threads of their own."""

import threading
from typing import Any

from odradek.client.address import Address
from odradek.protocol.membership_records import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    RegisteredEndpoint,
)
from odradek.protocol.messages.brokers import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    EnvelopeRequest,
    EnvelopeResponse,
)
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.schema import Message
from tests.fakes.controller import FakeController, FakeQuorum

_POLL_S = 0.02


class JoinedQuorum:
    """One controller, and what brokers have asked it besides its log."""

    def __init__(self) -> None:
        self.quorum = FakeQuorum(1)
        self.leader: FakeController = self.quorum.nodes[0]
        self.quorum.lead(self.leader, 1)
        self.asked: list[Any] = []
        self.registration_error = 0
        self.heartbeat_error = 0
        self.heartbeat_faults: list[Exception] = []
        self.envelope_errors: list[int] = []  # the next envelopes are answered so
        self.refusals: list[Exception] = []  # of who reads the log
        self.has_refused = threading.Event()
        self._changed = threading.Condition()

    def write(self, *messages: Message) -> None:
        """Records that are committed at once."""
        with self._changed:
            self.leader.write(*messages)
            self.leader.commit()
            self._changed.notify_all()

    def connect(self, address: Address) -> "JoinedLink":
        return JoinedLink(self)

    def answer(self, request: Any) -> Any:
        if isinstance(request, BrokerRegistrationRequest):
            return self._register(request)
        if isinstance(request, BrokerHeartbeatRequest):
            return self._hear(request)
        if isinstance(request, EnvelopeRequest):
            code = self.envelope_errors.pop() if self.envelope_errors else 0
            return EnvelopeResponse(error_code=code, response_data=b"\0\0\0\0\0")
        if self.refusals:
            error = self.refusals.pop()
            if not self.refusals:
                self.has_refused.set()
            raise error
        with self._changed:
            partition = (
                request.topics[0].partitions[0]
                if isinstance(request, FetchRequest)
                else None
            )
            if partition is not None and (
                partition.fetch_offset == self.leader.end_offset
            ):
                self._changed.wait(_POLL_S)
            return self.quorum.answer(self.leader, request)

    def _register(self, request: BrokerRegistrationRequest) -> Any:
        self.asked.append(request)
        if self.registration_error:
            return BrokerRegistrationResponse(error_code=self.registration_error)
        epoch = self.leader.end_offset
        self.write(
            RegisterBrokerRecord(
                broker_id=request.broker_id,
                incarnation_id=request.incarnation_id,
                broker_epoch=epoch,
                end_points=[
                    RegisteredEndpoint(name=each.name, host=each.host, port=each.port)
                    for each in request.listeners
                ],
            )
        )
        return BrokerRegistrationResponse(broker_epoch=epoch)

    def _hear(self, request: BrokerHeartbeatRequest) -> Any:
        self.asked.append(request)
        if self.heartbeat_faults:
            raise self.heartbeat_faults.pop()
        if self.heartbeat_error:
            return BrokerHeartbeatResponse(error_code=self.heartbeat_error)
        is_caught_up = request.current_metadata_offset >= request.broker_epoch
        may_serve = is_caught_up and not request.want_fence
        if may_serve and not request.want_shut_down:
            self.write(
                BrokerRegistrationChangeRecord(
                    broker_id=request.broker_id,
                    broker_epoch=request.broker_epoch,
                    fenced=-1,
                )
            )
        return BrokerHeartbeatResponse(
            is_caught_up=is_caught_up,
            is_fenced=not may_serve,
            should_shut_down=request.want_shut_down,
        )


class JoinedLink:
    """A connection to it."""

    api_versions: Any = {}  # noqa: RUF012 - nobody changes it

    def __init__(self, quorum: JoinedQuorum) -> None:
        self._quorum = quorum

    def request(self, request: Any, _response_class: Any) -> Any:
        return self._quorum.answer(request)

    def wait_for(self, timeout_s: float) -> None:
        pass

    def hang_up(self) -> None:
        pass

    def close(self) -> None:
        pass
