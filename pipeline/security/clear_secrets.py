"""Secrets that stand where others read them: in a job file, on a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.client.security import names
from odradek.client.security.references import has_reference
from odradek.protocol.jaas import JaasError, parse_jaas

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "kafka."
_OF_MODULES = ("password", "clientSecret")
INSTEAD = (
    "write ${env:NAME} or ${file:PATH:KEY} in its place, or name a file of client"
    " options"
)


def clear_secret(options: Mapping[str, str]) -> str:
    """The first option of a source that has a secret in it as it is; empty for none."""
    for name, value in options.items():
        option = name.lower().removeprefix(_PREFIX)
        if option in names.SECRETS and value.strip() and not has_reference(value):
            return name
        if option == names.JAAS and _has_clear_secret(value):
            return name
    return ""


def _has_clear_secret(jaas: str) -> bool:
    try:
        modules = parse_jaas(jaas)
    except JaasError:
        return not has_reference(jaas)  # whatever is in it
    return any(
        name in module.options and not has_reference(module.options[name])
        for module in modules
        for name in _OF_MODULES
    )
