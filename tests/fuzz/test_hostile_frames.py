"""R13, R14: whatever bytes come, no bug shows, memory stays, no neighbour notices."""

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest

from tests.broker_process import BrokerProcess, running_broker
from tests.clients.adapters import Confluent
from tests.fuzz.frames import hostile_frames
from tests.patience import PATIENCE_S

FRAMES = 100_000 if os.environ.get("ODRADEK_LONG") else 3_000
LOOPS = {"uvloop": 1, "asyncio": 2}  # each meets frames of its own
GROWTH_MAX_BYTES = 96 << 20
PING_ID = 0x7EA5E
PING = struct.pack(">ihhih", 10, 18, 0, PING_ID, -1)  # ApiVersions v0, no client id


class Attacker:
    """One connection at a time; a ping behind each frame shows that it was read."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.closed = self.answered = self.parked = 0
        self._socket: socket.socket | None = None

    def send(self, frame: bytes) -> None:
        if self._socket is None:
            self._socket = socket.create_connection(self.address, timeout=5)
            self._socket.settimeout(0.1)
        try:
            self._socket.sendall(struct.pack(">i", len(frame)) + frame + PING)
            if self._answered():
                self.answered += 1
                return
            self.closed += 1
        except TimeoutError:  # a fetch that waits, or an answer that never comes
            self.parked += 1
        except OSError:
            self.closed += 1
        self.close()

    def _answered(self) -> bool:
        """Read answers until the ping's; False when the broker closed first."""
        assert self._socket is not None
        data = b""
        while True:
            piece = self._socket.recv(1 << 16)
            if not piece:
                return False
            data += piece
            while len(data) >= 8:
                size, correlation_id = struct.unpack_from(">ii", data)
                if len(data) < 4 + size:
                    break
                if correlation_id == PING_ID and len(data) == 4 + size:
                    return True
                data = data[4 + size :]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


@contextlib.contextmanager
def healthy_client(address: str) -> Iterator[list[bytes]]:
    """A producer beside the attack; every record that it was promised is listed."""
    delivered: list[bytes] = []
    stop = threading.Event()
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "linger.ms": 0})

    def run() -> None:
        number = 0
        while not stop.is_set():
            value = b"%d" % number
            producer.produce("healthy", value, partition=0)
            assert producer.flush(PATIENCE_S) == 0, "the healthy client is stuck"
            delivered.append(value)
            number += 1

    thread = threading.Thread(target=run, name="healthy")
    thread.start()
    try:
        yield delivered
    finally:
        stop.set()
        thread.join()


def resident_bytes(broker: BrokerProcess) -> int:
    pages = Path(f"/proc/{broker.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("loop", LOOPS)
def test_hostile_frames_hurt_nobody(tmp_path: Path, loop: str) -> None:
    with running_broker(tmp_path / "data", loop=loop) as broker:
        Confluent().create_topic(broker.address, "healthy", 1)
        before = resident_bytes(broker)
        attacker = Attacker(("127.0.0.1", broker.port))
        with healthy_client(broker.address) as delivered:
            for frame in hostile_frames(FRAMES, seed=LOOPS[loop]):
                attacker.send(frame)
            attacker.close()
        found = Confluent().consume(broker.address, "healthy", 0, len(delivered))
        assert [read.message.value for read in found] == delivered
        assert len(delivered) > FRAMES // 100
        assert attacker.answered > FRAMES // 10
        assert attacker.closed > FRAMES // 10
        assert resident_bytes(broker) - before < GROWTH_MAX_BYTES
        broker.terminate()
        assert "Traceback" not in broker.log()
