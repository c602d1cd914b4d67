"""The prefix before values whose schema is in a registry, and the registry.

A value begins with a zero byte and the schema's id, 4 bytes big-endian. A registry is
asked over HTTP; whoever asks keeps what it has got.
"""

from __future__ import annotations

import base64
import json
from struct import Struct
from typing import Any, ClassVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

_PREFIX = Struct(">bI")
PREFIX_SIZE = _PREFIX.size
_TIMEOUT_S = 10
_TRIES = 3


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

    def __init__(self, url: str, user: str = "") -> None:
        """``user`` is like ``name:password``."""
        if urlsplit(url).scheme not in ("http", "https"):
            raise self.refused(f"registry: {url!r} is not a URL of http or https")
        self._url = url.rstrip("/")
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json"}
        if user:
            encoded = base64.b64encode(user.encode()).decode()
            self._headers["Authorization"] = f"Basic {encoded}"

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
        return kind(
            f"the registry {self._url} answers {error.code} {error.reason} to {path}"
        )

    def _get(self, path: str) -> dict[str, Any]:
        request = Request(self._url + path, headers=self._headers)
        for left in reversed(range(_TRIES)):
            try:
                with urlopen(request, timeout=_TIMEOUT_S) as answer:
                    content: dict[str, Any] = json.load(answer)
                    return content
            except HTTPError:
                raise
            except (URLError, TimeoutError, ConnectionError) as error:
                if not left:
                    reason = getattr(error, "reason", error)
                    raise self.away(f"the registry {self._url}: {reason}") from None
            except ValueError:
                text = f"{self._url} answers, but is not a registry"
                raise self.refused(text) from None
        raise AssertionError
