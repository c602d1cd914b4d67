"""All messages that `protocol.messages` declares, found by importing its modules."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

from odradek.protocol import messages as declarations
from odradek.protocol.schema import Request, Response

Message = type[Request] | type[Response]


def messages() -> list[Message]:
    """Return every message, requests before responses, by api key."""
    found = {message for name in modules() for message in _declared_in(name)}
    return sorted(found, key=lambda message: (not is_request(message), message.api_key))


def modules() -> list[str]:
    folder = declarations
    return [
        f"{folder.__name__}.{it.name}" for it in pkgutil.iter_modules(folder.__path__)
    ]


def is_request(message: Message) -> bool:
    return issubclass(message, Request)


def _declared_in(name: str) -> Iterator[Message]:
    for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass):
        if issubclass(kind, Request | Response) and kind.__module__ == name:
            yield kind
