"""The registry of schemas, as a job asks it: its failures are those of the job."""

from __future__ import annotations

from odradek.client.schemas import registry
from odradek.client.schemas.registry import PREFIX_SIZE, UnknownSchema, schema_id_of
from odradek.pipeline.job_errors import JobError

__all__ = [
    "PREFIX_SIZE",
    "RegistryAway",
    "SchemaRegistry",
    "UnknownSchema",
    "schema_id_of",
]


class RegistryAway(JobError):
    """It does not answer now; a stream tries again."""


class SchemaRegistry(registry.SchemaRegistry):
    """Asks a registry for a job; see `registry.SchemaRegistry`."""

    refused = JobError
    away = RegistryAway

    def __init__(self, url: str, user: str = "") -> None:
        try:
            super().__init__(url, user)
        except JobError as error:
            raise JobError(f"[value] {error}") from None
