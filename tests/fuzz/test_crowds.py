"""R11, R12: crowds of strangers, idle, flooding or slow, cost little and harm none."""

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker_process import BrokerProcess, running_broker
from tests.clients.adapters import QUICKLY, Confluent, Message
from tests.fuzz.strangers import Pinger, connect, many, ping, resident_bytes
from tests.patience import PATIENCE_S

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
IDLE = 10_000 if IS_LONG else 400
CONNECTS = 100_000 if IS_LONG else 1_500
BURST = 500
SLOW = 5_000 if IS_LONG else 200
ARRIVAL_MS = 30_000 if IS_LONG else 500
NEVER_READ = 100 if IS_LONG else 4
UNREAD_MS = 10_000 if IS_LONG else 500

IDLE_BYTES_MAX = 8 << 10
# A frame of 100 MiB is claimed; its few bytes lie in a buffer of 1 KiB.
SLOW_BYTES_MAX = IDLE_BYTES_MAX + (2 << 10)
CLAIM = struct.pack(">i", 100 << 20)
OPTIONS = ("-o", "max.connections=20000")

FLOOD = """
import socket, sys
RESET = bytes([1, 0, 0, 0] + [0] * 4)
port, count, burst = map(int, sys.argv[1:])
for _ in range(count // burst):
    sockets = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(burst)]
    for each in sockets:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        each.close()
"""


def flood(broker: BrokerProcess, count: int) -> None:
    arguments = [str(number) for number in (broker.port, count, min(count, BURST))]
    subprocess.run([sys.executable, "-c", FLOOD, *arguments], check=True, timeout=500)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def descriptors(broker: BrokerProcess) -> int:
    return len(os.listdir(f"/proc/{broker.pid}/fd"))


def test_idle_connections_cost_little(tmp_path: Path) -> None:
    with (
        running_broker(tmp_path / "data", *OPTIONS) as broker,
        Pinger(broker.port) as pinger,
    ):
        with many(broker.port, 50) as sockets:  # loads what is nobody's
            assert all(map(ping, sockets))
        before = resident_bytes(broker.pid)
        with many(broker.port, IDLE) as sockets:
            assert all(map(ping, sockets))
            each_bytes = (resident_bytes(broker.pid) - before) / IDLE
            wait_until(lambda: len(pinger.times_ms) > 100)
        assert not pinger.failed
        print(f"{IDLE} idle: {each_bytes:.0f} bytes each; {pinger}")
        assert each_bytes < IDLE_BYTES_MAX


def test_bursts_of_connections_hold_up_nobody(tmp_path: Path) -> None:
    with (
        running_broker(tmp_path / "data", *OPTIONS) as broker,
        Pinger(broker.port) as pinger,
    ):
        wait_until(lambda: len(pinger.times_ms) > 20)
        usual = descriptors(broker)
        flood(broker, CONNECTS // 10)  # what is kept for the next ones is no leak
        before = resident_bytes(broker.pid)
        pinger.times_ms.clear()
        began = time.monotonic()
        flood(broker, CONNECTS)
        rate = CONNECTS / (time.monotonic() - began)
        during = str(pinger)
        wait_until(lambda: descriptors(broker) <= usual)
        grown = resident_bytes(broker.pid) - before
        print(f"{CONNECTS} connects, {rate:.0f}/s: +{grown >> 10} KiB; {during}")
        assert not pinger.failed
        assert grown < 16 << 20
        broker.terminate()
        assert "Traceback" not in broker.log()


def is_cut(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_a_claimed_frame_costs_what_came_of_it_and_is_cut_in_time(
    tmp_path: Path,
) -> None:
    options = (*OPTIONS, "-o", f"request.arrival.timeout.ms={ARRIVAL_MS}")
    with (
        running_broker(tmp_path / "data", *options) as broker,
        Pinger(broker.port) as pinger,
    ):
        before = resident_bytes(broker.pid)
        with many(broker.port, SLOW) as sockets:
            began = time.monotonic()
            for each in sockets:
                each.sendall(CLAIM)
                each.setblocking(False)
            largest = 0.0
            open_ = list(sockets)
            while open_:
                turn = time.monotonic()
                for each in open_:
                    try:
                        each.send(b"x")
                    except OSError:
                        continue
                largest = max(largest, (resident_bytes(broker.pid) - before) / SLOW)
                open_ = [each for each in open_ if not is_cut(each)]
                time.sleep(
                    max(0.0, turn + min(1, ARRIVAL_MS / 3000) - time.monotonic())
                )
            cut_s = time.monotonic() - began
        print(f"{SLOW} slow: {largest:.0f} bytes each, cut in {cut_s:.1f} s; {pinger}")
        assert largest < SLOW_BYTES_MAX
        assert cut_s > ARRIVAL_MS / 1000
        assert not pinger.failed
        assert "took too long to arrive" in broker.log()


def big_fetches(count: int) -> bytes:
    """Requests whose answers are a megabyte each."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic="big", partitions=[partition])],
    )
    return b"".join(
        bytes(encode_request(request, 11, number, "glutton")) for number in range(count)
    )


def test_consumers_that_never_read_are_bounded_and_cut(tmp_path: Path) -> None:
    options = (*OPTIONS, "-o", f"connection.unread.timeout.ms={UNREAD_MS}")
    with (
        running_broker(tmp_path / "data", *options) as broker,
        Pinger(broker.port) as pinger,
    ):
        Confluent().create_topic(broker.address, "big", 1)
        values = [Message(None, os.urandom(100_000)) for _ in range(12)]
        Confluent().produce(broker.address, "big", values, QUICKLY)
        requests = big_fetches(40)
        before = resident_bytes(broker.pid)
        with many(broker.port, NEVER_READ) as sockets:
            began = time.monotonic()
            for each in sockets:
                each.sendall(requests)
            largest = 0
            while (
                descriptors_of(broker, sockets)
                and time.monotonic() < began + PATIENCE_S
            ):
                largest = max(largest, resident_bytes(broker.pid) - before)
                time.sleep(0.1)
            cut_s = time.monotonic() - began
            assert ping_of(broker)
        each_mib = largest / NEVER_READ / (1 << 20)
        print(
            f"{NEVER_READ} that never read: {each_mib:.2f} MiB each, cut in"
            f" {cut_s:.1f} s; {pinger}"
        )
        # 8 MiB that wait to be read, and the answer that went past them.
        assert largest < NEVER_READ * (10 << 20) + (16 << 20)
        assert UNREAD_MS / 1000 < cut_s < PATIENCE_S
        assert not pinger.failed
        assert "its answers are not read" in broker.log()


def descriptors_of(broker: BrokerProcess, sockets: list[socket.socket]) -> int:
    """How many of ``sockets`` the broker has not closed."""
    ports = {sock.getsockname()[1] for sock in sockets}
    count = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        local, remote, state = line.split()[1:4]
        if int(local.rsplit(":", 1)[1], 16) == broker.port and state == "01":
            count += int(remote.rsplit(":", 1)[1], 16) in ports
    return count


def ping_of(broker: BrokerProcess) -> bool:
    sock = connect(broker.port)
    try:
        return ping(sock)
    finally:
        sock.close()
