"""Values that stand elsewhere, as Kafka's config providers look them up (KIP-297).

    ${file:/etc/kafka/secrets.properties:password}   a line of a file
    ${dir:/run/secrets:kafka-password}               a file of a directory
    ${env:KAFKA_PASSWORD}                            the environment

They stand in any value, alone or among other text; what is found is not looked into
again. Without ``config.providers`` they have these names; with it, the names there and
no others. What names them may be printed and sent to others; they may not.

What has the name of no provider stays as it is: a rule or a pattern may look like this.
Where Kafka leaves in place what is not found, it is refused here; so is a name that is
nearly one of a provider.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.protocol.properties import parse_properties
from odradek.terminal.spelling import did_you_mean

from .names import SecurityOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROVIDERS: Final = "config.providers"
_SIZE_MAX = 1 << 20
_NEARLY = 0.65  # so alike two letters of three are, or these in another order
_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
_KINDS = {
    f"{_PACKAGE}FileConfigProvider": "file",
    f"{_PACKAGE}DirectoryConfigProvider": "dir",
    f"{_PACKAGE}EnvVarConfigProvider": "env",
}


class BadReference(ValueError):
    """What is referred to cannot be looked up; the text says why, and no value.

    ``reference`` is what was not found; empty where it is the providers that are wrong.
    """

    def __init__(self, reason: str, reference: str = "") -> None:
        super().__init__(reason)
        self.reference = reference


class Provider(NamedTuple):
    """One provider: of which kind, and where it may look."""

    kind: str
    allowed_paths: tuple[str, ...] = ()
    allowed_names: str = ""


_DEFAULTS = {kind: Provider(kind) for kind in _KINDS.values()}


def is_reference(text: str) -> bool:
    """Whether all of the value stands elsewhere."""
    return _REFERENCE.fullmatch(text.strip()) is not None


def has_reference(value: str) -> bool:
    """Whether some of the value stands elsewhere, by the usual names."""
    return any(found[1] in _DEFAULTS for found in _REFERENCE.finditer(value))


def names_providers(option: str) -> bool:
    """Whether it is an option that says which providers there are."""
    return option == PROVIDERS or option.startswith(f"{PROVIDERS}.")


def resolved(
    options: Mapping[str, str],
    place: Callable[[str], str] = os.path.expanduser,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The options of a client with what they refer to; as `References`.

    Raises:
        SecurityOptionError: it is not there; what was found is not said.
    """
    if not (PROVIDERS in options or any("${" in x for x in options.values())):
        return dict(options)
    name = PROVIDERS
    try:
        references = References(options, environ, place)
        found = {}
        for name, value in options.items():
            found[name] = references.resolved(value)
    except BadReference as error:
        raise SecurityOptionError(name, str(error)) from None
    return found


class References:
    """Looks values up; ``options`` are all texts by name, those of providers too.

    ``place`` says where a file is here: paths in files of clients are those of a
    person, who writes ``~``, or of another machine; those of a server are as they are.
    """

    def __init__(
        self,
        options: Mapping[str, str],
        environ: Mapping[str, str],
        place: Callable[[str], str] = str,
    ) -> None:
        """Read what ``config.providers`` says.

        Raises:
            BadReference: it names a class that is not here.
        """
        self._environ = environ
        self._place = place
        self._providers = _providers(options)

    def resolved(self, text: str) -> str:
        """``text`` with what stands elsewhere in its place.

        Raises:
            BadReference: something is not there, or must not be looked at.
        """
        return _REFERENCE.sub(self._found, text) if "${" in text else text

    def _found(self, reference: re.Match[str]) -> str:
        name, path, key = reference[1], reference[2] or "", reference[3]
        provider = self._providers.get(name)
        if provider is None:
            self._see_that_it_is_meant(name)
            return reference[0]
        try:
            if provider.kind == "env":
                return self._of_environment(provider, path, key)
            return self._of_files(provider, path, key)
        except OSError as error:
            reason = f"{error.filename}: {error.strerror or error}"
            raise BadReference(reason, reference[0]) from None
        except ValueError as error:
            raise BadReference(str(error), reference[0]) from None

    def _see_that_it_is_meant(self, name: str) -> None:
        meant = did_you_mean(name.lower(), self._providers, _NEARLY)
        if meant is not None:  # what follows the name is not said: who knows what it is
            reason = f"there is no provider {name}; did you mean {meant}?"
            raise BadReference(reason, f"${{{name}:...}}")

    def _of_environment(self, provider: Provider, path: str, name: str) -> str:
        if path or not name:
            raise ValueError("write it like ${env:NAME}")
        names = provider.allowed_names
        if names and re.fullmatch(names, name) is None:
            raise ValueError(f"the pattern {names} does not have it")
        if name not in self._environ:
            raise ValueError(f"there is no environment variable {name}")
        return self._environ[name]

    def _of_files(self, provider: Provider, path: str, key: str) -> str:
        is_folder = provider.kind == "dir"
        if not (path and key):
            what = "dir:PATH:NAME" if is_folder else "file:PATH:KEY"
            raise ValueError(f"write it like ${{{what}}}")
        if is_folder and ("/" in key or key in (".", "..")):
            raise ValueError("a file of the directory itself is needed")
        file = self._place(os.path.join(path, key) if is_folder else path)
        allowed, real = provider.allowed_paths, Path(os.path.abspath(file))
        if allowed and not any(real.is_relative_to(each) for each in allowed):
            raise ValueError("it is in none of the allowed paths")
        text = _text(Path(file))
        # A newline at the end of a file of a directory belongs to it, as in Kafka.
        return text if is_folder else _value(file, text, key)


def _providers(options: Mapping[str, str]) -> dict[str, Provider]:
    named = [x.strip() for x in options.get(PROVIDERS, "").split(",") if x.strip()]
    if not named:
        return _DEFAULTS
    found = {}
    for name in named:
        option = f"{PROVIDERS}.{name}.class"
        kind = _KINDS.get(options.get(option, ""))
        if kind is None:
            raise BadReference(
                f"{PROVIDERS} has {name}, and {option}={options.get(option, '')} is "
                f"none of those that are here: {', '.join(_KINDS)}"
            )
        given = f"{PROVIDERS}.{name}.param."
        paths = options.get(f"{given}allowed.paths", "").split(",")
        allowed_paths = tuple(path.strip() for path in paths if path.strip())
        names = options.get(f"{given}allowlist.pattern", "").strip()
        try:
            re.compile(names)
        except re.error as error:
            raise BadReference(f"{given}allowlist.pattern={names}: {error}") from None
        found[name] = Provider(kind, allowed_paths, names)
    return found


def _value(file: str, text: str, key: str) -> str:
    """The last line of a file of properties that has this key."""
    for entry in reversed(parse_properties(text)):
        if entry.name == key:
            return entry.value
    raise ValueError(f"{file} has no {key}")


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():  # it may have no end
        raise ValueError(f"{path}: it is no file")
    with path.open("rb") as file:
        data = file.read(_SIZE_MAX + 1)
    if len(data) > _SIZE_MAX:
        raise ValueError(f"{path}: it has more than {_SIZE_MAX >> 20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is no text of UTF-8") from None
