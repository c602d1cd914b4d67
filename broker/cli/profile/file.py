"""The file of profiles, as its commands read and change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.client.profiles import (
    ProfileError,
    profiles_path,
    read_profiles,
    write_profiles,
)
from odradek.terminal.failure import FAILED, fail

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.client.profiles import Profiles


def read(command: str) -> Profiles:
    """What is in it. Ends the process when it is wrong."""
    try:
        return read_profiles(profiles_path())
    except ProfileError as error:
        raise SystemExit(fail(command, FAILED, error)) from None


def change(command: str, how: Callable[[Profiles], Profiles]) -> Profiles:
    """What is in it after ``how``. Ends the process when that is not possible."""
    path = profiles_path()
    try:
        profiles = how(read_profiles(path))
        write_profiles(path, profiles)
    except ProfileError as error:
        raise SystemExit(fail(command, FAILED, error)) from None
    except OSError as error:
        text = f"{error.filename or path}: {error.strerror}"
        raise SystemExit(fail(command, FAILED, text)) from None
    return profiles
