import json
import socket
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from odradek.client.security.settings import OAuth, Secret
from odradek.client.security.tokens import Endpoint, NoToken, token_of


def jwt(**claims: Any) -> str:
    body = urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"head.{body}.signature"


class Server(BaseHTTPRequestHandler):
    """What it answers, and what it was asked."""

    answer = (200, {"access_token": "a.b.c"})
    asked: tuple[str, str] = ("", "")

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        Server.asked = (self.headers["Authorization"], self.rfile.read(size).decode())
        status, body = Server.answer
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/token"
        server.shutdown()
        thread.join()


def client(url: str) -> Endpoint:
    secret = Secret("marker:&")
    return Endpoint(
        OAuth(endpoint_url=url, client_id="me", client_secret=secret, scope="all")
    )


def test_the_login_of_a_client(url: str) -> None:
    Server.answer = (200, {"access_token": "a.b.c"})
    assert client(url).token() == Secret("a.b.c")
    basic, body = Server.asked
    assert b64decode(basic.removeprefix("Basic ")) == b"me:marker%3A%26"
    assert body == "grant_type=client_credentials&scope=all"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, {"error": "invalid_client"}), "401 invalid_client"),
        ((302, {}), "302"),  # the secret does not follow
        ((200, {}), "no token in the answer"),
    ],
)
def test_no_token(url: str, answer: Any, said: str) -> None:
    Server.answer = answer
    with pytest.raises(NoToken, match=said) as caught:
        client(url).token()
    assert "marker" not in str(caught.value)


def test_a_token_is_kept_for_most_of_its_life() -> None:
    now_s, asked = 1000.0, 0

    def post(_: OAuth) -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"access_token": jwt(exp=now_s + 100)}

    endpoint = Endpoint(OAuth(), post, lambda: now_s)
    for at_s, count in ((0.0, 1), (79.0, 1), (81.0, 2)):
        now_s = 1000 + at_s
        endpoint.token()
        assert asked == count


def test_files_and_commands(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(NoToken, match="No such file"):
        token_of(OAuth(token_file=str(path)))
    path.write_text("a.b.c\n")
    assert token_of(OAuth(token_file=str(path))) == Secret("a.b.c")
    path.write_text("marker of two words")
    with pytest.raises(NoToken, match="no token in one line") as caught:
        token_of(OAuth(token_file=str(path)))
    assert "marker" not in str(caught.value)
    assert token_of(OAuth(token_command="echo 'd.e.f'")) == Secret("d.e.f")
    with pytest.raises(NoToken, match="false ended with 1"):
        token_of(OAuth(token_command="false"))
    with pytest.raises(NoToken, match="no-such-command"):
        token_of(OAuth(token_command="no-such-command"))
    for odd in ("cat 'x", " "):
        with pytest.raises(NoToken, match="is no command"):
            token_of(OAuth(token_command=odd))


def test_an_answer_that_is_cut_short() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as connected:
                asked = b""
                while b"scope=all" not in asked:
                    asked += connected.recv(4096)
                connected.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n")
                connected.sendall(b'\r\nff\r\n{"access')

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with pytest.raises(NoToken, match="IncompleteRead"):
                client(f"http://127.0.0.1:{listener.getsockname()[1]}/").token()
        finally:
            thread.join()
