from http import HTTPStatus

import pytest

from odradek.broker.operate.http_request import BadRequest, HttpRequest, parse_head


def head(*lines: str) -> HttpRequest:
    text = "\r\n".join(("POST /a/b?c=d HTTP/1.1", *lines, "", ""))
    return parse_head(text.encode("latin-1"))


def test_a_head_is_read() -> None:
    found = head("Host: x:1", "X-Thing:a ", "x-thing: b")
    assert (found.method, found.path, found.version) == ("POST", "/a/b", "HTTP/1.1")
    assert found.headers["host"] == "x:1"
    assert found.headers["x-thing"] == "a, b"
    assert not found.awaits_consent
    assert head("Expect: 100-Continue").awaits_consent


@pytest.mark.parametrize("name", ["Host", "content-length", "Origin", "Authorization"])
def test_what_may_be_said_once_is_refused_twice(name: str) -> None:
    with pytest.raises(BadRequest, match=f"{name.lower()} is said twice") as refused:
        head(f"{name}: 1", f"{name.upper()}: 1")
    assert refused.value.status == HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize("line", ["GET /", "GET / HTTP/2", "GET / x HTTP/1.1", ""])
def test_what_is_no_http_is_refused(line: str) -> None:
    with pytest.raises(BadRequest):
        parse_head(f"{line}\r\n\r\n".encode())


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("X: y", 0),
        ("Content-Length: 10", 10),
        ("Content-Length: 11", HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        ("Content-Length: " + "9" * 10_000, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        ("Content-Length: -1", HTTPStatus.BAD_REQUEST),
        ("Content-Length: 1_0", HTTPStatus.BAD_REQUEST),
        ("Content-Length: \xb2", HTTPStatus.BAD_REQUEST),
        ("Content-Length:", HTTPStatus.BAD_REQUEST),
        ("Transfer-Encoding: chunked", HTTPStatus.LENGTH_REQUIRED),
    ],
)
def test_how_long_a_body_is(line: str, size: int) -> None:
    request = head(line)
    if isinstance(size, HTTPStatus):
        with pytest.raises(BadRequest) as refused:
            request.body_size(10)
        assert refused.value.status == size
    else:
        assert request.body_size(10) == size
