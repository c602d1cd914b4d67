"""Tokens for OAUTHBEARER: out of a file, of a command, or for a client's secret (OIDC).

A token of an endpoint is kept for most of its life, for all connections of the process;
files and commands are asked for each login, as their tokens may have been renewed.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from base64 import b64encode, urlsafe_b64decode
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode

from odradek.protocol.errors import SaslAuthenticationFailed

from .settings import Secret, Tls

if TYPE_CHECKING:
    from collections.abc import Callable

    from .settings import OAuth

_TIMEOUT_S = 10.0
_SIZE_MAX = 1 << 20
_PART_OF_LIFE = 0.8


class NoToken(SaslAuthenticationFailed):
    """There is no token to log in with; says why, and shows none."""


def token_of(oauth: OAuth) -> Secret:
    """A token that can be sent.

    Raises:
        NoToken: there is none.
    """
    if oauth.token_file:
        return _checked(_of_file(oauth.token_file), oauth.token_file)
    if oauth.token_command:
        return _checked(_of_command(oauth.token_command), oauth.token_command)
    return endpoint_of(oauth).token()


def _of_file(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise NoToken(f"{path}: {reason}") from None


def _of_command(command: str) -> str:
    try:
        name, *_ = words = shlex.split(command)
    except ValueError:  # a quotation mark is missing, or there is no word
        raise NoToken(f"{command!r} is no command") from None
    try:
        run = subprocess.run(
            words, stdout=subprocess.PIPE, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, ValueError) as error:
        raise NoToken(f"{name}: {getattr(error, 'strerror', error)}") from None
    except subprocess.TimeoutExpired:
        raise NoToken(f"{name}: no token in {_TIMEOUT_S:g} s") from None
    if run.returncode:
        raise NoToken(f"{name} ended with {run.returncode}")
    return run.stdout


def _checked(text: str, where: str) -> Secret:
    token = text.strip()
    if not (token and token.isascii() and token.isprintable()) or " " in token:
        raise NoToken(f"{where} has no token in one line")
    return Secret(token)


class Endpoint:
    """The login of a client by its secret (RFC 6749, 4.4), over https."""

    def __init__(
        self,
        oauth: OAuth,
        post: Callable[[OAuth], dict[str, Any]] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._oauth = oauth
        self._post = post or _post
        self._now = now
        self._token = Secret()
        self._fresh_until_s = 0.0

    def token(self) -> Secret:
        """The one that is kept, or a new one."""
        if self._now() >= self._fresh_until_s:
            answer = self._post(self._oauth)
            found = answer.get("access_token") or answer.get("id_token")
            if not isinstance(found, str):
                raise NoToken(f"{self._oauth.endpoint_url}: no token in the answer")
            self._token = _checked(found, self._oauth.endpoint_url)
            life_s = _life_s(found, answer, self._now())
            self._fresh_until_s = self._now() + life_s * _PART_OF_LIFE
        return self._token


@lru_cache(maxsize=16)
def endpoint_of(oauth: OAuth) -> Endpoint:
    """The one of these options, which keeps its token."""
    return Endpoint(oauth)


def _life_s(token: str, answer: dict[str, Any], now_s: float) -> float:
    """For how long a token is good; 0 where neither it nor the answer says."""
    try:
        body = token.split(".")[1]
        claims = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return max(float(claims["exp"]) - now_s, 0)
    except (IndexError, ValueError, KeyError, TypeError):
        pass
    try:
        return max(float(answer["expires_in"]), 0)
    except (KeyError, ValueError, TypeError):
        return 0


def _post(oauth: OAuth) -> dict[str, Any]:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

    class _NoRedirects(HTTPRedirectHandler):
        """The secret goes where it was meant to go, and nowhere else."""

        def redirect_request(self, *_: Any) -> None:
            return None

    pair = f"{quote_plus(oauth.client_id)}:{quote_plus(oauth.client_secret.value)}"
    fields = {"grant_type": "client_credentials"}
    if oauth.scope:
        fields["scope"] = oauth.scope
    headers = {
        "Authorization": f"Basic {b64encode(pair.encode()).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    data = urlencode(fields).encode()
    request = Request(oauth.endpoint_url, data, headers)
    opener = build_opener(_NoRedirects, HTTPSHandler(context=_https_context(oauth)))
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as response:
            content = response.read(_SIZE_MAX)
        found = json.loads(content)
    except HTTPError as error:
        with error:
            reason = _said(error.read(_SIZE_MAX)) or error.reason
        raise NoToken(f"{oauth.endpoint_url}: {error.code} {reason}") from None
    except (URLError, HTTPException, OSError) as error:
        why = getattr(error, "reason", None) or error
        raise NoToken(f"{oauth.endpoint_url}: {why}") from None
    except (ValueError, RecursionError):
        raise NoToken(f"{oauth.endpoint_url}: the answer is no JSON") from None
    return found if isinstance(found, dict) else {}


def _https_context(oauth: OAuth) -> Any:
    from .tls import context_of

    return context_of(Tls(trusted=oauth.trusted))


def _said(content: bytes) -> str:
    """The error of an answer, in its own words (RFC 6749, 5.2)."""
    try:
        found = json.loads(content)
        parts = (found.get("error"), found.get("error_description"))
    except (ValueError, AttributeError):
        return ""
    return ": ".join(str(part)[:200] for part in parts if part)
