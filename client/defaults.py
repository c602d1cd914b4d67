"""Which cluster and which registry are meant when a command names none.

The environment is asked first, then the profile, which a command may name itself: then
it is stronger than the environment.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .profiles import profile_in_use

if TYPE_CHECKING:
    from collections.abc import Mapping

BOOTSTRAP_SERVER = "127.0.0.1:9092"
BOOTSTRAP_VARIABLE = "ODRADEK_BOOTSTRAP_SERVER"
REGISTRY_VARIABLE = "ODRADEK_REGISTRY"


def default_bootstrap(
    profile: str | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[str, str]:
    """Addresses like ``kafka-1:9092,kafka-2:9092``, and who says so: empty for nobody.

    They are as they were written, and may be none.

    Raises:
        ProfileError: the profile is not there, or their file is wrong.
    """
    named = environ.get(BOOTSTRAP_VARIABLE, "").strip()
    if named and not profile:
        return named, BOOTSTRAP_VARIABLE
    name, found = profile_in_use(profile, environ)
    if found.bootstrap_servers:
        return found.bootstrap_servers, f"profile {name}"
    return (named, BOOTSTRAP_VARIABLE) if named else (BOOTSTRAP_SERVER, "")


def default_registry(
    profile: str | None = None, environ: Mapping[str, str] = os.environ
) -> str:
    """The URL of the registry of schemas; empty where nobody names one.

    Raises:
        ProfileError: as `default_bootstrap`.
    """
    named = environ.get(REGISTRY_VARIABLE, "").strip()
    if named and not profile:
        return named
    return profile_in_use(profile, environ)[1].registry or named
