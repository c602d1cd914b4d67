import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from odradek.client.address import Address
from odradek.client.errors import TlsFailed
from odradek.client.shown_chain import shown_chain
from tests.certificates import authority, server
from tests.patience import PATIENCE_S


@contextmanager
def listening(context: ssl.SSLContext | None) -> Iterator[Address]:
    """Somebody who accepts one connection; without a context, and hangs up."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            accepted, _ = listener.accept()
            with accepted:
                if context is None:
                    accepted.recv(1000)
                    return
                with context.wrap_socket(accepted, server_side=True) as wrapped:
                    wrapped.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Address(*listener.getsockname())
        thread.join()


def test_whoever_issued_it_it_is_shown(tmp_path: object) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    holder = server()
    context.load_cert_chain(holder.certificate, holder.key)
    with listening(context) as address:
        found = shown_chain(address, PATIENCE_S)
    assert found == [ssl.PEM_cert_to_DER_cert(holder.certificate.read_text())]
    assert authority().certificate.exists()


def test_who_speaks_no_tls_is_told() -> None:
    with listening(None) as address, pytest.raises(TlsFailed):
        shown_chain(address, PATIENCE_S)
