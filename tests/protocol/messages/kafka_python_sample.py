"""Random messages of kafka-python, for the few versions that kio does not have.

These are old ones (Produce 0 to 2), so there are no tags and nothing is compact.
"""

import importlib
import random
import warnings
from typing import Any

STRINGS = ("", "a", "tópico-☃-𝄞", "z" * 300)
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    for _family in ("admin", "consumer", "metadata", "producer", "sasl"):
        importlib.import_module(f"kafka.protocol.{_family}")
    from kafka.protocol.api_message import ApiMessage


def message_type(name: str, version: int) -> Any:
    """Return kafka-python's class, None where it does not know the version."""
    found = [kind for kind in ApiMessage.__subclasses__() if kind.__name__ == name]
    known = [kind for kind in found if kind.min_version <= version <= kind.max_version]
    return known[0] if known and not known[0].flexible_version_q(version) else None


def sample(kind: Any, version: int, seed: int, fullness: float) -> Any:
    """Return a random message; ``fullness`` is how likely a null is avoided."""
    draw = _Draw(random.Random(seed), version, fullness)
    return draw.struct(kind, kind.json["fields"])


class _Draw:
    def __init__(self, source: random.Random, version: int, fullness: float) -> None:
        self.random = source
        self.version = version
        self.fullness = fullness

    def struct(self, kind: Any, fields: list[dict[str, Any]]) -> Any:
        names = {
            field["name"]: name for field, name in zip(fields, kind.fields, strict=True)
        }
        present = [it for it in fields if within(it["versions"], self.version)]
        return kind(**{names[it["name"]]: self.field(kind, it) for it in present})

    def field(self, kind: Any, field: dict[str, Any]) -> Any:
        is_nullable = within(field.get("nullableVersions", ""), self.version)
        if is_nullable and self.random.random() >= self.fullness:
            return None
        is_array = field["type"].startswith("[]")
        element = field["type"].removeprefix("[]")
        count = self.random.randrange(4) if is_array else 1
        values = [self.value(kind, element, field) for _ in range(count)]
        return values if is_array else values[0]

    def value(self, kind: Any, type_name: str, field: dict[str, Any]) -> Any:
        if "fields" in field:
            return self.struct(getattr(kind, type_name), field["fields"])
        if type_name in BITS:
            half = 1 << BITS[type_name] - 1
            return self.random.choice((-half, -1, 0, self.random.randrange(half)))
        if type_name in ("bytes", "records"):
            return self.random.randbytes(50)
        if type_name == "bool":
            return self.random.random() < 0.5
        assert type_name == "string", type_name
        return self.random.choice(STRINGS)


def within(versions: str, version: int) -> bool:
    """Whether a range like ``3+``, ``0-7`` or ``2`` holds a version."""
    first, dash, last = versions.rstrip("+").partition("-")
    if not first:
        return False
    if versions.endswith("+"):
        return version >= int(first)
    return int(first) <= version <= int(last if dash else first)


def disagreements(
    ours: Any, theirs: Any, fields: list[dict[str, Any]], version: int
) -> list[str]:
    """Say which fields of our message differ from those of kafka-python's."""
    found = []
    for field, name in zip(fields, theirs.fields, strict=True):
        if not within(field["versions"], version):
            continue
        mine, other = getattr(ours, name), getattr(theirs, name)
        if "fields" not in field:
            found += [] if mine == other else [f"{name} is {mine!r}, not {other!r}"]
            continue
        assert len(mine) == len(other), name
        for pair in zip(mine, other, strict=True):
            found += disagreements(*pair, field["fields"], version)
    return found
