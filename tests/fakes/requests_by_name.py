"""Requests written as plain values: what is inside becomes the right structs."""

from typing import Any, get_args

from odradek.broker.handlers import load
from odradek.protocol.schema import REQUESTS, Request, Struct

load()  # so that all of them are known


def request_of(api_key: int, values: dict[str, Any]) -> Request:
    """A request of that API; what is not said has its default."""
    made: Any = struct_of(REQUESTS[api_key], values)
    assert isinstance(made, Request)
    return made


def struct_of(cls: type[Struct], values: dict[str, Any]) -> Struct:
    own = cls.__annotations__
    return cls(**{name: _made(own[name], value) for name, value in values.items()})


def _made(hint: Any, value: Any) -> Any:
    inner = _struct_in(hint)
    if inner is None:
        return value
    if isinstance(value, list):
        return [struct_of(inner, each) for each in value]
    return value if value is None else struct_of(inner, value)


def _struct_in(hint: Any) -> type[Struct] | None:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint
    found = (_struct_in(each) for each in get_args(hint))
    return next((each for each in found if each is not None), None)
