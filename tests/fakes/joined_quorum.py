"""Controllers that brokers register with: they answer from threads of their own."""

import threading
from typing import Any

from odradek.client.address import Address
from odradek.protocol.errors import ErrorCode
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
    """Two controllers, and what brokers have asked them besides their log."""

    def __init__(self) -> None:
        self.quorum = FakeQuorum(2)
        self.leader: FakeController = self.quorum.nodes[0]
        self.quorum.lead(self.leader, 1)
        self.asked: list[Any] = []
        self.registration_errors: list[int] = []  # the next are answered so
        self.registration_error = 0  # and all the others
        self.elects_at_registration = False
        self.heartbeat_error = 0
        self.heartbeat_faults: list[Exception] = []
        self.envelope_errors: list[int] = []  # the next envelopes are answered so
        self.refusals: list[Exception] = []  # of who reads the log
        self.has_refused = threading.Event()
        self._unfenced: set[int] = set()  # epochs of registrations
        self._changed = threading.Condition()

    def write(self, *messages: Message) -> None:
        """Records that are committed at once."""
        with self._changed:
            self.leader.write(*messages)
            self.leader.commit()
            self._changed.notify_all()

    def elect(self) -> None:
        """The controller leads from now on that did not."""
        with self._changed:
            before = self.leader
            self.leader = next(each for each in self.quorum.nodes if each != before)
            self.leader.batches = before.batches
            self.leader.high_watermark = before.high_watermark
            self.quorum.lead(self.leader, before.epoch + 1)
            self._changed.notify_all()

    def connect(self, address: Address) -> "JoinedLink":
        return JoinedLink(self, address)

    def answer(self, asked: Address, request: Any) -> Any:
        is_leader = asked == self.leader.address
        if isinstance(request, BrokerHeartbeatRequest) and not is_leader:
            return BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
        if isinstance(request, BrokerRegistrationRequest) and not is_leader:
            return BrokerRegistrationResponse(error_code=ErrorCode.NOT_CONTROLLER)
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
                partition.fetch_offset == self.leader.end_offset and is_leader
            ):
                self._changed.wait(_POLL_S)
            (node,) = [each for each in self.quorum.nodes if each.address == asked]
            return self.quorum.answer(node, request)

    def _register(self, request: BrokerRegistrationRequest) -> Any:
        self.asked.append(request)
        code = self.registration_error
        if self.registration_errors:
            code = self.registration_errors.pop()
        if self.elects_at_registration:
            self.elects_at_registration = False
            self.elect()
        if code:
            return BrokerRegistrationResponse(error_code=code)
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
        is_fenced = request.broker_epoch not in self._unfenced
        if may_serve and is_fenced and not request.want_shut_down:
            self._unfenced.add(request.broker_epoch)
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

    def __init__(self, quorum: JoinedQuorum, address: Address) -> None:
        self._quorum, self._address = quorum, address

    def request(self, request: Any, _response_class: Any) -> Any:
        return self._quorum.answer(self._address, request)

    def wait_for(self, timeout_s: float) -> None:
        pass

    def hang_up(self) -> None:
        pass

    def close(self) -> None:
        pass
