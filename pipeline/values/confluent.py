"""The registry of schemas, as a job asks it: its failures are those of the job."""

from __future__ import annotations

from odradek.client.schemas import registry
from odradek.client.schemas.registry import PREFIX_SIZE, UnknownSchema, schema_id_of
from odradek.client.schemas.registry_options import (
    NOBODY,
    RegistryLogin,
    login_of_file,
)
from odradek.client.security.references import resolved
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.security.places import here, is_task, not_here

__all__ = [
    "PREFIX_SIZE",
    "RegistryAway",
    "SchemaRegistry",
    "UnknownSchema",
    "open_registry",
    "schema_id_of",
]


_USER = "registry_user"


class RegistryAway(JobError):
    """It does not answer now; a stream tries again."""


class SchemaRegistry(registry.SchemaRegistry):
    """Asks a registry for a job; see `registry.SchemaRegistry`."""

    refused = JobError
    away = RegistryAway

    def __init__(self, url: str, user: str = "", login: RegistryLogin = NOBODY) -> None:
        try:
            super().__init__(url, user, login)
        except JobError as error:
            raise JobError(f"[value] {error}") from None


def open_registry(url: str, user: str = "", file: str = "") -> SchemaRegistry:
    """The registry, on whatever machine this is.

    ``user`` may stand elsewhere; ``file`` has client options, of a registry too.

    Raises:
        JobError: a file or a variable is not here, or the URL is none.
    """
    try:
        user = resolved({_USER: user}, here)[_USER]
        login = login_of_file(file, url, here) if file else NOBODY
    except ValueError as error:
        raise JobError(not_here(error) if is_task() else f"[value] {error}") from None
    return SchemaRegistry(url, user, login)
