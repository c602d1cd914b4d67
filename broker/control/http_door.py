"""The second door of tests: ``POST /test/v1/NAME`` on the HTTP listener.

For who has no unix sockets at hand: Java, Go, Node, curl. The body is what a line on
the admin socket says, an object in JSON, without the name; none is an empty one. The
answer has a line in JSON for everything there is to say, as soon as it is known, and
at the end ``{"done": true}`` or ``{"error": WORD, "message": TEXT}``: the last line
says whether it was done. A request that is refused before it has said anything has
status 400, unless it waits or follows (`watching`): that is answered with 200 at once,
and ends when its asker hangs up.

Only requests of tests come by this door; those of operators have the admin socket,
which belongs to one user. Here whoever reaches the listener may ask: that is this
machine, or who knows ``test.control.token``. Pages that a browser of this machine has
open are kept out by what they cannot choose: ``Host`` (so no name of theirs leads
here), ``Origin``, ``Sec-Fetch-Site`` and the type of the body.
"""

from __future__ import annotations

import hmac
import json
import re
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from odradek.broker.config.options.listener import HostPort
from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.operate.http_reply import Reply, Streamed
from odradek.terminal.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Mapping

    from odradek.broker.operate.admin_socket import AdminRequest
    from odradek.broker.operate.http_request import HttpRequest
    from odradek.broker.runtime.bugs import Bugs

PREFIX: Final = "/test/v1/"
CONNECTIONS_MAX: Final = 256
BODY_SIZE_MAX: Final = 4 << 20
NDJSON: Final = "application/x-ndjson"
_JSON: Final = "application/json"
_UNEXPECTED: Final = "unexpected"
_PORT: Final = re.compile(r":\d+$")


class ControlDoor:
    """Answers requests of tests that come by HTTP."""

    prefix = PREFIX
    connections_max = CONNECTIONS_MAX
    body_size_max = BODY_SIZE_MAX

    def __init__(
        self,
        requests: Callable[[], Mapping[str, AdminRequest]],
        bugs: Bugs,
        *,
        host: str,
        token: str = "",
        watching: Collection[str] = (),
    ) -> None:
        """``host`` is where the listener is; ``requests`` is asked when one comes."""
        self._requests = requests
        self._bugs = bugs
        self._host = host
        self._token = token
        self._watching = watching
        self.is_closed = False

    def refusal(self, request: HttpRequest) -> Reply | None:
        """Why nobody will read the body; None: it may come."""
        headers = request.headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if not self._is_for_us(headers.get("host", "")):
            # A page whose own name leads here (DNS rebinding) cannot hide that name.
            status = HTTPStatus.MISDIRECTED_REQUEST
            return _refused(status, "use localhost, or set test.control.token")
        if _is_from_elsewhere(headers):
            return _refused(HTTPStatus.FORBIDDEN, "this is not for pages of others")
        if self._token and not self._knows_token(headers.get("authorization", "")):
            return _refused(
                HTTPStatus.UNAUTHORIZED,
                "say Authorization: Bearer and what test.control.token is",
                "WWW-Authenticate: Bearer",
            )
        if request.method != "POST":
            status = HTTPStatus.METHOD_NOT_ALLOWED
            return _refused(status, "requests are posted", "Allow: POST")
        if kind != _JSON and headers.get("content-length", "0") != "0":
            status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
            return _refused(status, f"say Content-Type: {_JSON}")
        if self.is_closed:
            return _refused(HTTPStatus.SERVICE_UNAVAILABLE, "the broker stops")
        return None

    async def answer(self, request: HttpRequest, body: bytes) -> Reply | Streamed:
        """What the request of that name says."""
        name = request.path[len(PREFIX) :]
        requests = self._requests()
        if name not in requests:
            meant = did_you_mean(name, requests)
            hint = f"did you mean {meant}?" if meant else ", ".join(requests)
            message = f"there is no request {name!r}; {hint}"
            error = _error(AdminError("unknown-request", message))
            return Reply(HTTPStatus.NOT_FOUND, _line(error), NDJSON)
        try:
            fields = _parsed(body)
        except AdminError as error:
            return Reply(HTTPStatus.BAD_REQUEST, _line(_error(error)), NDJSON)
        items = self._answers(requests[name], fields)
        if name in self._watching:
            return Streamed(_lines(items), NDJSON, ends_with_asker=True)
        first = await anext(items)
        if "error" not in first:
            return Streamed(_lines(items, first), NDJSON)
        await items.aclose()
        is_bug = first["error"] == _UNEXPECTED
        status = HTTPStatus.INTERNAL_SERVER_ERROR if is_bug else HTTPStatus.BAD_REQUEST
        return Reply(status, _line(first), NDJSON)

    async def _answers(
        self, request: AdminRequest, fields: dict[str, Any]
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """As on the admin socket: items, and how it ended."""
        try:
            # Closed when nobody reads it any more: a request may hold something.
            async with aclosing(request(fields)) as items:
                async for item in items:
                    yield {"item": item}
        except AdminError as error:
            yield _error(error)
        except Exception as error:
            self._bugs.record("a request of tests", error)
            text = "an unexpected error; the log of the broker has it"
            yield _error(AdminError(_UNEXPECTED, text))
        else:
            yield {"done": True}

    def _is_for_us(self, host: str) -> bool:
        if self._token:
            return True  # who knows it is nobody's page
        found = _PORT.sub("", host)
        name = found[1:-1] if found.startswith("[") else found
        return name == self._host or HostPort(name, 0).is_loopback

    def _knows_token(self, said: str) -> bool:
        scheme, _, token = said.partition(" ")
        given, known = token.strip().encode("latin-1"), self._token.encode()
        return scheme.lower() == "bearer" and hmac.compare_digest(given, known)


def _refused(status: HTTPStatus, message: str, *headers: str) -> Reply:
    word = status.phrase.lower().replace(" ", "-")
    return Reply(status, _line(_error(AdminError(word, message))), NDJSON, headers)


def _is_from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Whether a browser asks for a page that is not ours. Others say neither."""
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{headers.get('host')}":
        return True
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise AdminError("malformed", f"the body is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise AdminError("malformed", "a body is an object in JSON")
    return fields


async def _lines(
    answers: AsyncGenerator[Mapping[str, Any], None],
    first: Mapping[str, Any] | None = None,
) -> AsyncGenerator[bytes, None]:
    async with aclosing(answers):
        if first is not None:
            yield _line(first)
        async for answer in answers:
            yield _line(answer)


def _line(answer: Mapping[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode() + b"\n"


def _error(error: AdminError) -> dict[str, str]:
    return {"error": error.word, "message": str(error)}
