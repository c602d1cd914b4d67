"""A crowd of strangers at a port of a broker with TLS, who want to keep it busy.

    python bench/parts/stranger_load.py hello --port 9093 --count 5000

Each of them has sent half a hello (``hello``), or all of it and the beginning of what
is to follow the answer (``unended``: the broker has done its part of a handshake), or
has made its handshake and claims a request of so many bytes (``claim``), and sends a
byte a second from then on. Who is
thrown out comes back ``--pause`` seconds later: with 1 this is a crowd of slow ones,
with 0 a flood. The process takes only CPU that nobody else wants. It prints a line when
as many have come as there are, and when its input ends how often they came and were
thrown out.
"""

import argparse
import heapq
import json
import os
import resource
import select
import socket
import ssl
import sys
import time
from contextlib import suppress

HALF_A_HELLO = bytes.fromhex("160301020001")  # five hundred bytes are yet to come
RECORD_BEGUN = bytes.fromhex("17030300ff")  # encrypted, of 255 bytes
_BYTE_S = 1.0
_TIMEOUT_S = 5
_NICEST = 19
_FILES_BESIDES = 100
_LATER = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def main() -> None:
    args = _arguments()
    os.nice(_NICEST)
    files = args.count + _FILES_BESIDES
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, max(files, most)))
    crowd = Crowd(args)
    is_told = False
    while not crowd.is_over:
        crowd.turn()
        if crowd.came_count >= args.count and not is_told:
            is_told = True
            print("all here", flush=True)
    told = {"came": crowd.came_count, "thrown": crowd.thrown_count}
    print(json.dumps(told | {"here": len(crowd.here)}), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("hello", "unended", "claim"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--pause", type=float, default=1)
    parser.add_argument("--claim", type=int, default=64 << 10, metavar="BYTES")
    return parser.parse_args()


class Crowd:
    """All of them; ``here`` are those who are connected, by their descriptor."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._beginning = HALF_A_HELLO
        if args.kind == "unended":
            self._beginning = _whole_hello(self._context) + RECORD_BEGUN
        self._poll = select.epoll()
        self._poll.register(sys.stdin.fileno(), select.EPOLLIN)
        self.is_over = False
        self.here: dict[int, socket.socket] = {}
        self.came_count = self.thrown_count = 0
        now = time.monotonic()
        # When somebody comes (None), or sends the next byte.
        self._due: list[tuple[float, int, socket.socket | None]] = [
            (now, number, None) for number in range(args.count)
        ]
        self._number = args.count

    def turn(self) -> None:
        """Whatever is due, a few at a time; then wait for what is."""
        for _ in range(64):
            if not self._due or self._due[0][0] > time.monotonic():
                break
            _, _, sock = heapq.heappop(self._due)
            if sock is None:
                self._come()
            elif sock.fileno() >= 0:
                self._send_a_byte(sock)
        left = self._due[0][0] - time.monotonic() if self._due else 0.1
        for fd, _ in self._poll.poll(max(0.0, min(left, 0.1))):
            if fd in self.here:
                self._see(self.here[fd])
            else:
                self.is_over = True

    def _plan(self, seconds: float, sock: socket.socket | None) -> None:
        self._number += 1  # no two are compared further
        heapq.heappush(self._due, (time.monotonic() + seconds, self._number, sock))

    def _come(self) -> None:
        args = self._args
        try:
            sock = socket.create_connection(("127.0.0.1", args.port), _TIMEOUT_S)
            if args.kind == "claim":
                sock = self._context.wrap_socket(sock)
                sock.sendall(args.claim.to_bytes(4, "big"))
            else:
                sock.sendall(self._beginning)
            sock.setblocking(False)
        except OSError:
            self.thrown_count += 1
            self._plan(args.pause, None)
            return
        self.came_count += 1
        self.here[sock.fileno()] = sock
        self._poll.register(sock.fileno(), select.EPOLLRDHUP)
        self._plan(_BYTE_S, sock)

    def _send_a_byte(self, sock: socket.socket) -> None:
        try:
            with suppress(*_LATER):
                sock.send(b"\1")
        except OSError:
            self._see(sock)
            return
        self._plan(_BYTE_S, sock)

    def _see(self, sock: socket.socket) -> None:
        """It was thrown out."""
        self.thrown_count += 1
        self._poll.unregister(sock.fileno())
        del self.here[sock.fileno()]
        sock.close()
        self._plan(self._args.pause, None)


def _whole_hello(context: ssl.SSLContext) -> bytes:
    """One for all of them: who answers it does not care."""
    said = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), said, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return said.read()


if __name__ == "__main__":
    main()
