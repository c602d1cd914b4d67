"""Clusters that a person knows by name: a file of profiles, of which one is in use.

``profiles.toml`` stands in the user's folder of configurations (XDG). It belongs to the
user alone, as the URL of a registry may have a password in it:

    current = "prod"

    [profiles."prod"]
    bootstrap_servers = "kafka-1:9092,kafka-2:9092"
    registry = "https://registry.example.com"
    color = "never"
    command_config = "/home/me/.config/odradek/prod.properties"

Users and passwords of Kafka stand in the file of ``command_config``, never here.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.terminal.screen import COLOR_CHOICES
from odradek.terminal.spelling import did_you_mean

from .address import parse_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILE_VARIABLE = "ODRADEK_PROFILE"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)
_HIDDEN = "***"


class ProfileError(ValueError):
    """A profile or the file of profiles is wrong; the message says how."""


class Profile(NamedTuple):
    """What commands do by default; what is empty is as without a profile."""

    bootstrap_servers: str = ""
    registry: str = ""
    color: str = ""
    command_config: str = ""

    def shown(self) -> dict[str, str]:
        """What is set, without passwords."""
        values = {name: value for name, value in self._asdict().items() if value}
        if self.registry:
            values["registry"] = _without_password(self.registry)
        return values


class Profiles(NamedTuple):
    """All of them by name, and the name of the one in use: empty for none."""

    known: Mapping[str, Profile]
    current: str = ""

    def named(self, name: str) -> Profile:
        """The profile of that name.

        Raises:
            ProfileError: there is none.
        """
        if name not in self.known:
            meant = did_you_mean(name, self.known)
            hint = f"did you mean {meant}?" if meant else _list_text(self.known)
            raise ProfileError(f"no profile is called {name!r}; {hint}")
        return self.known[name]

    def with_profile(self, name: str, profile: Profile) -> Profiles:
        """These and another one, which is then in use.

        Raises:
            ProfileError: its name or what it says is wrong.
        """
        _check(name, profile)
        return Profiles({**self.known, name: profile}, name)

    def without(self, name: str) -> Profiles:
        """The others. Raises as `named` does."""
        self.named(name)
        left = {each: of for each, of in self.known.items() if each != name}
        return Profiles(left, "" if self.current == name else self.current)

    def using(self, name: str) -> Profiles:
        """The same with another one in use, or with none. Raises as `named` does."""
        if name:
            self.named(name)
        return self._replace(current=name)


def profiles_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the file is, or would be."""
    folder = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):  # as XDG has it
        folder = os.path.join(os.path.expanduser("~"), ".config")
    return Path(folder) / "odradek" / "profiles.toml"


def read_profiles(path: Path) -> Profiles:
    """The profiles of the file; none where there is no file.

    Raises:
        ProfileError: it cannot be read, or makes no sense.
    """
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Profiles({})
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}") from None
    import tomllib  # only who has profiles needs it

    try:
        return _profiles_of(tomllib.loads(content.decode("utf-8-sig")))
    except ValueError as error:
        raise ProfileError(f"{path}: {error}") from None


def write_profiles(path: Path, profiles: Profiles) -> None:
    """Replace the file, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    import json  # its texts are those of TOML, too

    lines = [f"current = {json.dumps(profiles.current)}"]
    for name, profile in sorted(profiles.known.items()):
        lines += ["", f"[profiles.{json.dumps(name)}]"]
        lines += [
            f"{key} = {json.dumps(value, ensure_ascii=False)}"
            for key, value in profile._asdict().items()
            if value
        ]
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def profile_in_use(
    name: str | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[str, Profile]:
    """The named profile; else that of the environment, or of the file; or an empty one.

    Raises:
        ProfileError: there is none of that name, or the file is wrong.
    """
    wanted = name or environ.get(PROFILE_VARIABLE, "")
    profiles = read_profiles(profiles_path(environ))
    wanted = wanted or profiles.current
    return (wanted, profiles.named(wanted)) if wanted else ("", Profile())


def _profiles_of(found: dict[str, Any]) -> Profiles:
    _check_keys(found, ("current", "profiles"), "the file")
    tables, current = found.get("profiles", {}), found.get("current", "")
    if not (isinstance(tables, dict) and isinstance(current, str)):
        raise ValueError("write current = NAME, and a table [profiles.NAME] for each")
    known = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ValueError(f"write a table [profiles.{name}]")
        _check_keys(table, Profile._fields, f"profile {name}")
        for key, value in table.items():
            if not isinstance(value, str):
                raise ValueError(f"profile {name}: {key} is not a text")
        known[name] = Profile(**table)
        _check(name, known[name])
    profiles = Profiles(known, current)
    if current:
        profiles.named(current)
    return profiles


def _check_keys(found: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in found:
        if key not in known:
            meant = did_you_mean(key, known)
            hint = f"did you mean {meant}?" if meant else f"known: {', '.join(known)}"
            raise ValueError(f"{what} has an unknown key {key!r}; {hint}")


def _check(name: str, profile: Profile) -> None:
    if not _NAME.fullmatch(name):
        raise ProfileError(f"{name!r} is not a name; use letters, digits, - _ .")
    if not all(map(str.isprintable, profile)):
        raise ProfileError(f"profile {name} has a value that cannot be printed")
    try:
        if profile.bootstrap_servers:
            parse_addresses(profile.bootstrap_servers)
    except ValueError as error:
        raise ProfileError(f"profile {name}: {error}") from None
    if profile.registry and not profile.registry.startswith(("http://", "https://")):
        shown = _without_password(profile.registry)
        raise ProfileError(f"profile {name}: {shown!r} is not a URL of http or https")
    if profile.color and profile.color not in COLOR_CHOICES:
        choices = ", ".join(COLOR_CHOICES)
        raise ProfileError(f"profile {name}: color is one of {choices}")


def _without_password(url: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    if not (at and colon):
        return url
    return parts._replace(netloc=f"{name}:{_HIDDEN}@{host}").geturl()


def _list_text(known: Mapping[str, Profile]) -> str:
    if not known:
        return "odradek profile create makes one"
    return f"known: {', '.join(sorted(known))}"
