"""Values that stand elsewhere, as Kafka's providers of configurations have them.

    sasl.password=${file:/etc/kafka/secrets.properties:password}
    sasl.password=${env:KAFKA_PASSWORD}
    sasl.password=${dir:/run/secrets:kafka-password}

What names them may be printed and sent to others; they may not.
"""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.protocol.properties import parse_properties

from .names import SecurityOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_REFERENCE = re.compile(r"\$\{(\w+):([^}]*)\}")
_PROVIDERS = ("file", "env", "dir")
_SIZE_MAX = 1 << 20


def has_reference(value: str) -> bool:
    """Whether some of the value stands elsewhere."""
    return _REFERENCE.search(value) is not None


def resolved(
    options: Mapping[str, str],
    place: Callable[[str], str] = os.path.expanduser,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The options with what they refer to; ``place`` says where a file is here.

    Raises:
        SecurityOptionError: it is not there; what was found is not said.
    """

    def value_of(option: str, found: re.Match[str]) -> str:
        provider, wanted = found[1], found[2]
        if provider == "env":
            return _of_environment(option, wanted, environ)
        if provider not in _PROVIDERS:
            raise SecurityOptionError(
                option,
                f"knows ${{file:PATH:KEY}}, ${{env:NAME}} and ${{dir:PATH:NAME}}, and"
                f" no ${{{provider}:...}}",
            )
        path, colon, key = wanted.partition(":")
        if not (path and colon and key):
            what = "PATH:KEY" if provider == "file" else "PATH:NAME"
            raise SecurityOptionError(option, f"write it like ${{{provider}:{what}}}")
        if provider == "dir":
            return _text(option, place(os.path.join(path, key))).strip("\r\n")
        return _of_file(option, place(path), key)

    return {
        name: _REFERENCE.sub(partial(value_of, name), value)
        for name, value in options.items()
    }


def _of_environment(option: str, name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise SecurityOptionError(option, f"there is no environment variable {name}")
    return environ[name]


def _of_file(option: str, path: str, key: str) -> str:
    entries = parse_properties(_text(option, path))
    for entry in reversed(entries):  # of several, the last counts
        if entry.name == key:
            return entry.value
    raise SecurityOptionError(option, f"{path} has no {key}")


def _text(option: str, path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as file:
            return file.read(_SIZE_MAX)
    except OSError as error:
        raise SecurityOptionError(
            option, f"{path}: {error.strerror or error}"
        ) from None
    except UnicodeDecodeError:
        raise SecurityOptionError(option, f"{path}: it is no text") from None
