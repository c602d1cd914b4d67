"""What a job reads: the section ``[source]`` of its file, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from odradek.client.defaults import BOOTSTRAP_SERVER
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.security.access import Access
from odradek.pipeline.security.clear_secrets import INSTEAD, clear_secret
from odradek.pipeline.security.words import TOPIC, Need
from odradek.pipeline.source.option_names import KAFKA_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.client.security.settings import Security


@dataclass(frozen=True)
class Source:
    """What is read, and from where on."""

    bootstrap_servers: str = BOOTSTRAP_SERVER
    topics: tuple[str, ...] = ()
    topic_pattern: str = ""
    starting_offsets: str | dict[str, dict[str, int]] = "earliest"
    max_offsets_per_trigger: int = 2_000_000
    small_batch_records: int = 10_000
    isolation_level: str = "read_uncommitted"
    path: str = ""
    format: str = "odradek"
    options: dict[str, str] = field(default_factory=dict)
    command_config: str = ""

    def security(self) -> Security | None:
        """How the job itself speaks to the brokers; None for PLAINTEXT.

        Raises:
            JobError: an option is wrong, or a file is not there.
        """
        given = {
            name.lower().removeprefix(KAFKA_PREFIX): text
            for name, text in self.options.items()
            if name.lower().startswith(KAFKA_PREFIX)
        }
        if self.format != "odradek" and self.command_config:
            given = {}  # of the connector, whose files only Java may read
        try:
            return Access.of(given, self.command_config).security()
        except ValueError as error:
            raise JobError(f"[source] {error}") from None

    @property
    def needs(self) -> tuple[Need, ...]:
        """The rights that a driver needs before anything is read."""
        return tuple(Need("Describe", TOPIC, topic) for topic in self.topics)

    @property
    def is_committed(self) -> bool:
        """Whether only records of committed transactions are read."""
        return self.isolation_level == "read_committed"


def read_source(given: dict[str, Any], path: Callable[[str], str]) -> Source:
    """What the section means; ``path`` makes paths absolute.

    Raises:
        JobError: what in it cannot be.
    """
    if bool(given["topics"]) == bool(given["topic_pattern"]):
        raise JobError('[source] needs topics = ["orders"], or topic_pattern, not both')
    if not all(isinstance(topic, str) and topic for topic in given["topics"]):
        raise JobError("[source] topics must be a list of names")
    if given["path"] and given["format"] != "odradek":
        raise JobError('[source] path is read by format = "odradek" only')
    if given["max_offsets_per_trigger"] < 1:
        raise JobError("[source] max_offsets_per_trigger must be more than 0")
    if given["small_batch_records"] < 0:
        raise JobError("[source] small_batch_records must not be negative")
    values = dict(given)
    values["topics"] = tuple(given["topics"])
    values["path"] = path(given["path"]) if given["path"] else ""
    values["options"] = {name: as_text(v) for name, v in given["options"].items()}
    if name := clear_secret(values["options"]):
        raise JobError(
            f"[source.options] {name}: a secret does not belong in a job file;"
            f" {INSTEAD} (command_config)"
        )
    file = path(given["command_config"]) if given["command_config"] else ""
    values["command_config"] = file
    if not given["bootstrap_servers"]:
        values["bootstrap_servers"] = _brokers_of(file) or BOOTSTRAP_SERVER
    return Source(**values)


def _brokers_of(command_config: str) -> str:
    try:
        return Access(file=command_config).bootstrap_servers()
    except ValueError as error:
        raise JobError(f"[source] command_config: {error}") from None


def as_text(value: Any) -> str:
    """As options of Spark are written."""
    return str(value).lower() if isinstance(value, bool) else str(value)
