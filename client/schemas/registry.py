"""The prefix before values whose schema is in a registry, and the registry.

A value begins with a zero byte and the schema's id, 4 bytes big-endian. A registry is
asked over HTTP; whoever asks keeps what it has got.
"""

from __future__ import annotations

import base64
import json
import ssl
from struct import Struct
from typing import Any, ClassVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import (
    BaseHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

from .registry_options import NOBODY, RegistryLogin

_PREFIX = Struct(">bI")
PREFIX_SIZE = _PREFIX.size
_TIMEOUT_S = 10
_TRIES = 3
_NOT_LET_IN = (401, 403)


def schema_id_of(value: bytes) -> int:
    """The id of the value's schema.

    Raises:
        ValueError: it does not begin as such a value does.
    """
    if len(value) < PREFIX_SIZE:
        raise ValueError(f"{len(value)} bytes are too few for a schema id")
    magic, schema_id = _PREFIX.unpack_from(value)
    if magic:
        raise ValueError(f"it begins with byte {value[0]}, not with a schema id")
    return int(schema_id)


def prefix_of(schema_id: int) -> bytes:
    """What stands before a value of this schema."""
    return _PREFIX.pack(0, schema_id)


class UnknownSchema(ValueError):
    """The registry has no schema of this id: the value cannot be decoded."""


class RegistryError(OSError):
    """The registry refuses, or what answers there is none."""


class RegistryAway(RegistryError):
    """It does not answer now."""


class SchemaRegistry:
    """Asks a registry, as Confluent's and others answer.

    Who has other words for its failures says so in a class of its own.
    """

    refused: ClassVar[type[Exception]] = RegistryError
    away: ClassVar[type[Exception]] = RegistryAway

    def __init__(self, url: str, user: str = "", login: RegistryLogin = NOBODY) -> None:
        """``user`` is like ``name:password``, and may be in the URL as well.

        Both go before ``login``.
        """
        bare, of_url = split_user(url)
        if urlsplit(bare).scheme not in ("http", "https"):
            raise self.refused(f"registry: {bare!r} is not a URL of http or https")
        self._url = bare.rstrip("/")
        self._tls = login.tls
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json"}
        user = user or of_url or login.user.value
        if user:
            encoded = base64.b64encode(user.encode()).decode()
            self._headers["Authorization"] = f"Basic {encoded}"
        elif login.token:
            self._headers["Authorization"] = f"Bearer {login.token.value}"

    def schema(self, schema_id: int, text_format: str = "") -> dict[str, Any]:
        """The schema: its ``schema`` text, its ``schemaType``, its ``references``.

        Raises:
            UnknownSchema: there is none of that id.
            RegistryAway: the registry cannot be reached.
            RegistryError: it refuses.
        """
        query = f"?format={text_format}" if text_format else ""
        try:
            return self._get(f"/schemas/ids/{schema_id}{query}")
        except HTTPError as error:
            if error.code == 404:
                raise UnknownSchema(f"the registry has no schema {schema_id}") from None
            raise self._failed(error) from None

    def version(
        self, subject: str, version: object, text_format: str = ""
    ) -> dict[str, Any]:
        """A schema by its subject; ``latest`` is a version too.

        Raises:
            RegistryAway, RegistryError: it cannot be reached, or has none.
        """
        query = f"?format={text_format}" if text_format else ""
        path = f"/subjects/{quote(subject, safe='')}/versions/{version}{query}"
        try:
            return self._get(path)
        except HTTPError as error:
            raise self._failed(error) from None

    def _failed(self, error: HTTPError) -> Exception:
        kind = self.away if error.code >= 500 else self.refused
        path = (error.url or "").removeprefix(self._url)
        advice = ""
        if error.code in _NOT_LET_IN:
            has_login = "Authorization" in self._headers
            said = "does not accept this login" if has_login else "wants a login"
            advice = f"; it {said} (basic.auth.user.info, or bearer.auth.token)"
        elif 300 <= error.code < 400:
            advice = "; a login goes to no other place than was named"
        return kind(
            f"the registry {self._url} answers {error.code} {error.reason} to"
            f" {path}{advice}"
        )

    def _get(self, path: str) -> dict[str, Any]:
        request = Request(self._url + path, headers=self._headers)
        opener = self._opener()
        for left in reversed(range(_TRIES)):
            try:
                with opener.open(request, timeout=_TIMEOUT_S) as answer:
                    content: dict[str, Any] = json.load(answer)
                    return content
            except HTTPError:
                raise
            except (URLError, TimeoutError, ConnectionError) as error:
                reason = getattr(error, "reason", error)
                if isinstance(reason, ssl.SSLError):
                    text = f"the registry {self._url}: {self._told(reason)}"
                    raise self.refused(text) from None
                if not left:
                    raise self.away(f"the registry {self._url}: {reason}") from None
            except ValueError:
                text = f"{self._url} answers, but is not a registry"
                raise self.refused(text) from None
        raise AssertionError

    def _opener(self) -> OpenerDirector:
        handlers: list[BaseHandler] = []
        if "Authorization" in self._headers:
            handlers.append(_NoRedirects())
        if self._tls is not None:
            from odradek.client.security.tls import context_of

            handlers.append(HTTPSHandler(context=context_of(self._tls)))
        return build_opener(*handlers)

    def _told(self, error: ssl.SSLError) -> str:
        from odradek.client.security.settings import Tls
        from odradek.client.security.tls import context_of, failure_of

        return str(failure_of(error, context_of(self._tls or Tls())))


class _NoRedirects(HTTPRedirectHandler):
    """A login goes where it was meant to go, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def split_user(url: str) -> tuple[str, str]:
    """A URL without its user and password, and these."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return (parts._replace(netloc=host).geturl(), unquote(user)) if at else (url, "")
