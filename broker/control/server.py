"""A broker that tests steer: the same as any other, with more to be asked of it."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

from odradek.broker.control.faults.disk import FaultyFiles
from odradek.broker.control.faults.rules import Rules
from odradek.broker.control.journal.journal import Journal
from odradek.broker.control.journal.reading import Reading
from odradek.broker.network.entry import Layers
from odradek.broker.node.server import Server, open_files_max
from odradek.broker.runtime.process import run_until_signal

from .clock.movable_clock import MovableClock
from .http_door import ControlDoor
from .process.known_clients import KnownClients, NotingDispatcher
from .recording.requests import Recorders
from .requests import WATCHING, control_requests

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.network.admission import Admission
    from odradek.broker.operate.admin_socket import AdminRequest, AdminSocket
    from odradek.broker.requests.dispatch import Dispatcher

    from .waits import Waits

# A line has the records of a request.
LINE_SIZE_MAX = 64 << 20


class ControlledServer(Server):
    """One broker in this process, for tests.

    ``waits``: who waits for what; ``on_reset``: called by the request ``reset``.
    """

    # Waits park a connection each.
    admin_connections_max: ClassVar[int | None] = 256
    rules: Rules
    journal: Journal
    waits: Waits
    recorders: Recorders
    _door: ControlDoor | None = None

    def __init__(self, config: BrokerConfig) -> None:
        self.clock = MovableClock()
        self.faulty_files = FaultyFiles(open_files_max(config))
        self.known_clients = KnownClients()
        self.is_frozen = False
        self.on_reset: list[Callable[[], object]] = []
        super().__init__(config, clock=self.clock, files=self.faulty_files)
        self.make_dispatcher = partial(NotingDispatcher, self.known_clients)

    @property
    def admission(self) -> Admission:
        """Who may connect."""
        return self._network.admission

    @property
    def dispatcher(self) -> Dispatcher:
        """What gives each request to its handler."""
        return self._network.dispatcher

    def freeze(self) -> None:
        """Stand still, but for what tests ask, until `thaw`."""
        self.is_frozen = True
        self.clock.hold_timers()
        for listener in self.listeners:
            listener.freeze()

    def thaw(self) -> None:
        """Go on, with all that has come meanwhile."""
        self.is_frozen = False
        self.clock.release_timers()
        for listener in self.listeners:
            listener.thaw()

    def admin_requests(self) -> dict[str, AdminRequest]:
        """Those of every broker, and those of tests."""
        return {**super().admin_requests(), **self._control_requests}

    @cached_property
    def _control_requests(self) -> dict[str, AdminRequest]:
        """The same for both doors: there is state behind them."""
        dispatcher = self.dispatcher
        layers = Layers(dispatcher, self.listeners)
        services = self.services
        self.rules = Rules(services, dispatcher, layers, self.faulty_files)
        reading = Reading(dispatcher, services)
        self.journal = Journal(services, reading, layers, self.rules)
        self.recorders = Recorders(self, layers)
        self.on_reset += [
            lambda: self.rules.clear(list(self.rules)),
            self.journal.clear,
        ]
        return control_requests(self)

    def http_door(self) -> ControlDoor:
        """The door of tests on the HTTP listener."""
        assert self.config.http_listener is not None
        self._door = ControlDoor(
            lambda: self._control_requests,
            self.bugs,
            host=self.config.http_listener.host,
            token=self.config.test_control_token,
            watching=self.watching_requests(),
        )
        return self._door

    def make_admin_socket(self) -> AdminSocket:
        """With room for records."""
        made = super().make_admin_socket()
        made.line_size_max = LINE_SIZE_MAX
        return made

    def watching_requests(self) -> tuple[str, ...]:
        """Those of every broker, and those of tests."""
        return (*super().watching_requests(), *WATCHING)

    async def stop(self) -> None:
        """In real time. Nothing is asked any more, and nobody waits for a rule."""
        self.clock.close()
        self.thaw()
        if self._door is not None:
            self._door.is_closed = True
        self._clear_rules()
        self.recorders.close()
        await super().stop()

    def _clear_rules(self) -> None:
        self.rules.clear(list(self.rules))


def run(
    config: BrokerConfig,
    *,
    loop: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> int:
    """Run such a broker until SIGTERM or SIGINT; returns the exit code."""
    return run_until_signal(ControlledServer(config), loop=loop, announce=announce)
