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

    from .security.client_file import ClientFile

BOOTSTRAP_SERVER = "127.0.0.1:9092"
BOOTSTRAP_VARIABLE = "ODRADEK_BOOTSTRAP_SERVER"
CLIENT_CONFIG_VARIABLE = "ODRADEK_CLIENT_CONFIG"
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


def client_file(
    given: str | None = None,
    profile: str | None = None,
    *,
    is_named: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> ClientFile | None:
    """The file of options for TLS and SASL: None where nobody names one.

    That is ``given``; else the profile's that the command names, and no other, so that
    a password for one cluster is not sent to another; else the one of the environment,
    or of the profile in use, unless brokers are named beside it (``is_named``).

    Raises:
        ProfileError: as `default_bootstrap`.
        ClientFileError: the file cannot be read, or says what cannot be.
    """
    path = given or ""
    if not path and profile:
        path = profile_in_use(profile, environ)[1].command_config
    elif not path:
        path = environ.get(CLIENT_CONFIG_VARIABLE, "").strip()
        is_named = is_named or bool(environ.get(BOOTSTRAP_VARIABLE, "").strip())
        if not (path or is_named):
            path = profile_in_use(None, environ)[1].command_config
    if not path:
        return None
    from .security.client_file import read_client_file

    return read_client_file(path)
