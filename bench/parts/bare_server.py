"""A server of a few lines, beside which a broker's connections are measured.

    python bench/parts/bare_server.py blocking
    python bench/parts/bare_server.py uvloop --certificate BOTH.pem

It accepts, shakes hands if it has a certificate, answers whatever comes with as many
bytes as a broker says in ApiVersions, and closes when its client does. It prints its
port first. With ``blocking`` it serves one client at a time, by the standard library.
"""

import argparse
import asyncio
import socket
import ssl
from pathlib import Path
from typing import cast

ANSWER = bytes(520)
_ASKED_SIZE_MAX = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("how", choices=("blocking", "uvloop"))
    parser.add_argument("--certificate", type=Path)
    args = parser.parse_args()
    context = None
    if args.certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(args.certificate)
        context.num_tickets = 0
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    if args.how == "blocking":
        _serve(listening, context)
    else:
        import uvloop

        uvloop.run(_serve_on_a_loop(listening, context))


def _serve(listening: socket.socket, context: ssl.SSLContext | None) -> None:
    while True:
        client, _ = listening.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            client = context.wrap_socket(client, server_side=True)
        while client.recv(_ASKED_SIZE_MAX):
            client.sendall(ANSWER)
        client.close()


async def _serve_on_a_loop(
    listening: socket.socket, context: ssl.SSLContext | None
) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Answering, sock=listening, ssl=context)
    await server.serve_forever()


class _Answering(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast("asyncio.WriteTransport", transport).write

    def data_received(self, data: bytes) -> None:
        self._write(ANSWER)


if __name__ == "__main__":
    main()
