"""One connection over a fake transport, as a client would use it."""

from typing import Any

from odradek.broker.network.connection import Connection
from odradek.broker.network.listener import SWEEP_INTERVAL_MS, Listener
from tests.fakes.clock import FakeClock
from tests.fakes.network import FakeTransport, WordDispatcher, fake_network, frame


class Client:
    """One connection over a fake transport, and everything around it."""

    def __init__(self, listener: Listener | None = None, **options: Any) -> None:
        self.log: list[str] = []
        self.clock = FakeClock()
        if listener is None:
            network, _ = fake_network(self.clock, self.log.append, **options)
            listener = Listener("PLAINTEXT", "127.0.0.1", 0, network)
        self.listener = listener
        self.clock = listener.network.clock  # type: ignore[assignment]
        self.transport = FakeTransport()
        self.connection = Connection(listener)
        self.transport.connect(self.connection)

    @property
    def dispatcher(self) -> WordDispatcher:
        return self.listener.network.dispatcher  # type: ignore[return-value]

    @property
    def answers(self) -> list[str]:
        return self.transport.frames()

    def ask(self, *texts: str) -> None:
        self.transport.feed(b"".join(map(frame, texts)))

    def pass_time(self, duration_ms: int) -> None:
        for _ in range(duration_ms // SWEEP_INTERVAL_MS):
            self.clock.advance(SWEEP_INTERVAL_MS)
            self.listener.sweep()
