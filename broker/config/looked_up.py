"""Values that are kept elsewhere, as Kafka's config providers look them up (KIP-297).

    ${file:/etc/odradek/secrets.properties:keystore.password}   a line of a file
    ${dir:/run/secrets:keystore-password}                       a file of a directory
    ${env:KEYSTORE_PASSWORD}                                    the environment

They stand in any value, alone or among other text; what is found is not looked into
again. Without ``config.providers`` they have these names; with it, the names there and
no others. Where Kafka leaves in place what is not found, the start is refused here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.protocol.properties import parse_properties

from .options.error import OptionError
from .secrets import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .sources import Setting

    Look = Callable[[str, str], str | None]

_PROVIDERS: Final = "config.providers"
_SIZE_MAX = 1 << 20
_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
_KINDS = {
    f"{_PACKAGE}FileConfigProvider": "file",
    f"{_PACKAGE}DirectoryConfigProvider": "dir",
    f"{_PACKAGE}EnvVarConfigProvider": "env",
}


class Provider(NamedTuple):
    """One provider: of which kind, and where it may look."""

    kind: str
    allowed_paths: tuple[str, ...] = ()
    allowed_names: str = ""


def is_reference(text: str) -> bool:
    """Whether all of the value is kept elsewhere."""
    return _REFERENCE.fullmatch(text.strip()) is not None


class LookedUp:
    """Looks values up; ``options`` are all texts by name, those of providers too."""

    def __init__(
        self, options: Mapping[str, str], environment: Mapping[str, str]
    ) -> None:
        """Read what ``config.providers`` says.

        Raises:
            OptionError: it names a class that is not here.
        """
        self._environment = environment
        self._providers = _providers(options)

    def value(self, text: str) -> str:
        """``text`` with what is kept elsewhere in its place.

        Raises:
            OptionError: something is not there, or must not be looked at.
        """
        return _REFERENCE.sub(self._found, text) if "${" in text else text

    def _found(self, reference: re.Match[str]) -> str:
        name, path, key = reference.groups()
        provider = self._providers.get(name)
        if provider is None:  # as Kafka does: a rule or a pattern may look like this
            return reference[0]
        look: dict[str, Look] = {
            "file": _of_file,
            "dir": _of_directory,
            "env": lambda _, key: self._environment.get(key),
        }
        try:
            _check_allowed(provider, path or "", key)
            found = look[provider.kind](path or "", key)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OptionError(f"{reference[0]} cannot be looked up: {reason}") from None
        if found is None:
            raise OptionError(f"{reference[0]} is not there")
        return found


def looked_up(settings: list[Setting], environment: Mapping[str, str]) -> list[Setting]:
    """The settings with what is kept elsewhere in its place.

    Raises:
        OptionError: it is not there.
    """
    look = LookedUp({each.name: each.text for each in settings}, environment)
    found = []
    for each in settings:
        try:
            text = look.value(each.text)
        except OptionError as error:
            raise OptionError(f"{each.where}: {each.name}: {error}") from None
        is_other = text != each.text
        found.append(each._replace(text=text, written=each.text) if is_other else each)
    return found


def check_sight(name: str, text: str, variable: str) -> None:
    """See that a secret which stands on the command line only says where it is.

    Raises:
        OptionError: it is the secret itself; ``variable`` could hold it instead.
    """
    if not is_reference(text):
        raise OptionError(
            f"-o {name}={HIDDEN}: everybody on this machine sees a command line; put it"
            f" into the file of --config, into the environment ({variable}), or say "
            f"where it is: -o '{name}=${{file:/etc/secrets.properties:key}}'"
        )


def _providers(options: Mapping[str, str]) -> dict[str, Provider]:
    named = [x.strip() for x in options.get(_PROVIDERS, "").split(",") if x.strip()]
    if not named:
        return {kind: Provider(kind) for kind in _KINDS.values()}
    found = {}
    for name in named:
        option = f"{_PROVIDERS}.{name}.class"
        kind = _KINDS.get(options.get(option, ""))
        if kind is None:
            raise OptionError(
                f"{_PROVIDERS} has {name}, and {option}={options.get(option, '')} is "
                f"none of those that are here: {', '.join(_KINDS)}"
            )
        given = f"{_PROVIDERS}.{name}.param."
        paths = options.get(f"{given}allowed.paths", "").split(",")
        allowed_paths = tuple(path.strip() for path in paths if path.strip())
        names = options.get(f"{given}allowlist.pattern", "").strip()
        found[name] = Provider(kind, allowed_paths, names)
    return found


def _check_allowed(provider: Provider, path: str, key: str) -> None:
    """Raises ValueError: the provider must not look there."""
    names = provider.allowed_names
    if provider.kind == "env":
        if names and re.fullmatch(names, key) is None:
            raise ValueError(f"the pattern {names} does not have it")
        return
    if not path:
        raise ValueError("it names no file, as in ${file:/etc/secrets.properties:key}")
    allowed = provider.allowed_paths
    real = Path(os.path.abspath(path))
    if allowed and not any(real.is_relative_to(each) for each in allowed):
        raise ValueError("it is in none of the allowed paths")


def _of_file(path: str, key: str) -> str | None:
    """The last line of a file of properties that has this key."""
    entries = parse_properties(_text(Path(path)))
    values = [entry.value for entry in entries if entry.name == key]
    return values[-1] if values else None


def _of_directory(path: str, key: str) -> str | None:
    """A whole file, which must be in the directory itself."""
    if "/" in key or key in ("", ".", ".."):
        raise ValueError("a file of the directory itself is needed")
    file = Path(path, key)
    return _text(file) if file.is_file() else None


def _text(path: Path) -> str:
    if not path.is_file():
        raise ValueError("there is no such file")
    with path.open("rb") as file:
        data = file.read(_SIZE_MAX + 1)
    if len(data) > _SIZE_MAX:
        raise ValueError(f"it has more than {_SIZE_MAX >> 20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("it is no text of UTF-8") from None
