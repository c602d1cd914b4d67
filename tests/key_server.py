"""A server of https, or http, that has the keys of issuers, and can be out of order."""

import itertools
import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.certificates import authority, server
from tests.tokens import Issuer


class KeyServer:
    """Answers with the keys of ``issuers``, or as ``ill`` says; it can be gone."""

    def __init__(self, *issuers: Issuer, is_secure: bool = True) -> None:
        self.issuers: Sequence[Issuer] = issuers
        self.ill = ""
        self.asked: list[str] = []
        self._is_secure = is_secure
        self._port = 0
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http{'s' * self._is_secure}://localhost:{self._port}/keys"

    @property
    def login_module(self) -> str:
        """Whom the broker trusts to vouch for this server."""
        return (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
            ' required ssl.truststore.type="PEM"'
            f' ssl.truststore.location="{authority().certificate}";'
        )

    def start(self) -> None:
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.key_server = self
        self._port = self._server.server_port
        if self._is_secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(server().certificate, server().key)
            self._server.context = context
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def stop(self) -> None:
        """Nobody is at its port any more; it can be started again there."""
        running, self._server = self._server, None
        if running is not None and self._thread is not None:
            running.shutdown()
            self._thread.join()
            running.server_close()


class _Server(ThreadingHTTPServer):
    key_server: KeyServer
    context: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the thread of the one who asks, where a handshake may take its time."""
        with suppress(OSError):
            if self.context is None:
                super().finish_request(request, client_address)
                return
            with self.context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found: KeyServer = self.server.key_server  # type: ignore[attr-defined]
        found.asked.append(found.ill)
        keys = [json.loads(each.keys.read_text())["keys"] for each in found.issuers]
        body = json.dumps({"keys": list(itertools.chain(*keys))}).encode()
        if found.ill == "garbage":
            body = b"<html>\xff\0 down for maintenance {"
        self.send_response({"500": 500, "302": 302}.get(found.ill, 200))
        if found.ill == "302":
            self.send_header("Location", "/elsewhere")
        if found.ill != "endless":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):  # who asks hangs up some time
            while found.ill == "endless":
                self.wfile.write(b" " * 65_536)
            self.wfile.write(body[: len(body) // 2] if found.ill == "half" else body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def key_server(*issuers: Issuer, is_secure: bool = True) -> Iterator[KeyServer]:
    """One that runs, and is stopped at the end."""
    found = KeyServer(*issuers, is_secure=is_secure)
    try:
        found.start()
        yield found
    finally:
        found.ill = ""
        found.stop()
