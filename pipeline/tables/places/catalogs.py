"""What a catalog of Iceberg is told, for a table in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

# Properties of a catalog that are options of the store.
PREFIX = "odradek.store."
_SECRETS = ("token", "credential", "secret", "password", "session", "access-key")


def file_io_properties(options: Mapping[str, str]) -> dict[str, str]:
    """With these pyiceberg asks the store as the rest of a job does."""
    given = {f"{PREFIX}{name}": text for name, text in options.items()}
    return {"py-io-impl": f"{__package__}.file_io.ObjectsFileIO", **given}


def clear_secret(properties: Mapping[str, str]) -> str:
    """The first property that has a secret in it; empty for none."""
    for name, text in properties.items():
        if any(word in name.lower() for word in _SECRETS):
            return name
        if "://" in text and urlsplit(text).password:
            return name
    return ""


def pyiceberg_variable(catalog: str, name: str) -> str:
    """The variable of the environment in which pyiceberg looks for a property."""
    words = name.upper().replace(".", "__").replace("-", "_")
    return f"PYICEBERG_CATALOG__{catalog.upper().replace('-', '_')}__{words}"
