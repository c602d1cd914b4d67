"""A schema registry of a few schemas, over HTTP."""

from __future__ import annotations

import json
import ssl
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from tests.certificates import Holder


class FakeRegistry:
    """Answers ``/schemas/ids/N`` and ``/subjects/S/versions/latest``."""

    def __init__(
        self,
        schemas: dict[int, Any],
        subjects: dict[str, int],
        *,
        identity: Holder | None = None,
        wanted: str | None = None,
        moved_to: str = "",
    ) -> None:
        """With an ``identity`` over https; for who is ``wanted``, if somebody is."""
        self.asked: list[str] = []
        self.headers: list[str | None] = []
        self._answers = {}
        for number, schema in schemas.items():
            answer = {}
            if isinstance(schema, bytes):  # a file of Protobuf
                schema, answer = b64encode(schema).decode(), {"schemaType": "PROTOBUF"}
            text = schema if isinstance(schema, str) else json.dumps(schema)
            answer["schema"] = text
            self._answers[f"/schemas/ids/{number}"] = answer
        for subject, number in subjects.items():
            answer = {**self._answers[f"/schemas/ids/{number}"], "id": number}
            self._answers[f"/subjects/{subject}/versions/latest"] = answer
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                registry.headers.append(self.headers["Authorization"])
                answer = registry._answers.get(self.path.partition("?")[0])
                body = json.dumps(answer or {"error_code": 40403}).encode()
                if moved_to:
                    self.send_response(301)
                    self.send_header("Location", moved_to)
                elif wanted not in (None, self.headers["Authorization"]):
                    self.send_response(401)
                else:
                    self.send_response(200 if answer else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        scheme = "http"
        if identity is not None:
            scheme, context = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(identity.certificate, identity.key)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True
            )
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
