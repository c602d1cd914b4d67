"""What attacks share: raw sockets, a client beside them, what the broker spends."""

import contextlib
import os
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.patience import PATIENCE_S

PING_ID = 0x7EA5E
PING = struct.pack(">ihhih", 10, 18, 0, PING_ID, -1)  # ApiVersions v0, no client id
RESET = struct.pack("ii", 1, 0)


def connect(port: int, timeout_s: float = PATIENCE_S) -> socket.socket:
    found = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def reset(sock: socket.socket) -> None:
    """Close without leaving the port in TIME_WAIT."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    sock.close()


def read_frame(sock: socket.socket) -> bytes:
    """The next answer without its length; empty when the broker has closed."""
    head = read_exactly(sock, 4)
    return read_exactly(sock, struct.unpack(">i", head)[0]) if head else b""


def read_exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        try:
            piece = sock.recv(size - len(data))
        except ConnectionError:
            return b""
        if not piece:
            return b""
        data += piece
    return bytes(data)


def ping(sock: socket.socket) -> bool:
    """Whether the broker still answers on this connection."""
    try:
        sock.sendall(PING)
    except ConnectionError:
        return False
    answer = read_frame(sock)
    return struct.unpack_from(">i", answer) == (PING_ID,) if answer else False


def resident_bytes(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Pinger:
    """A client that was there before: asks on and on, and notes how long it took."""

    INTERVAL_S = 0.005

    def __init__(self, port: int) -> None:
        self.times_ms: list[float] = []
        self.failed = False
        self._socket = connect(port)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pinger", daemon=True)

    def _run(self) -> None:
        while not self._stop.wait(self.INTERVAL_S):
            before = time.perf_counter()
            if not ping(self._socket):
                self.failed = True
                return
            self.times_ms.append((time.perf_counter() - before) * 1000)

    @property
    def median_ms(self) -> float:
        return statistics.median(self.times_ms)

    @property
    def slowest_ms(self) -> float:
        """The 99th percentile."""
        return sorted(self.times_ms)[len(self.times_ms) * 99 // 100]

    def __str__(self) -> str:
        return (
            f"{len(self.times_ms)} pings, median {self.median_ms:.1f} ms,"
            f" 99 % {self.slowest_ms:.1f} ms"
        )

    def __enter__(self) -> "Pinger":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()


@contextlib.contextmanager
def many(port: int, count: int) -> Iterator[list[socket.socket]]:
    """``count`` connections, each let in."""
    sockets: list[socket.socket] = []
    try:
        for _ in range(count):
            sockets.append(connect(port))
            if len(sockets) % 200 == 0:
                assert ping(sockets[-1])
        yield sockets
    finally:
        for each in sockets:
            reset(each)
