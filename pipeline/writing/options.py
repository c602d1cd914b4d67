"""The options of ``write.format("odradek")``: those of Spark's Kafka connector.

``topic`` is where rows go; without it a column of that name says so. What begins with
``kafka.`` is of a producer in Java, and what of that makes a difference is taken here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from odradek.client.address import Address, parse_addresses
from odradek.client.producer import ProducerSettings
from odradek.client.security.client_file import ClientFileError
from odradek.client.security.names import USED as SECURITY
from odradek.client.security.names import (
    SecurityOptionError,
    check_names,
    is_of_security,
)
from odradek.pipeline.errors import BadOption, did_you_mean
from odradek.pipeline.security.access import OPEN, Access

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "kafka."
BOOTSTRAP = PREFIX + "bootstrap.servers"
_OWN = ("topic", "commandConfig")
# What Spark itself takes of a query, and hands on.
_OF_SPARK = ("checkpointLocation", "includeHeaders", "path", "queryName")
_Value = TypeVar("_Value")
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}
_BOOLEANS = {"true": True, "false": False}
_USED = (
    "acks",
    "batch.size",
    "bootstrap.servers",
    "client.id",
    "compression.type",
    "delivery.timeout.ms",
    "enable.idempotence",
    "max.request.size",
    "request.timeout.ms",
)
_IGNORED = (
    "buffer.memory",
    "client.dns.lookup",
    "connections.max.idle.ms",
    "enable.metrics.push",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "metadata.max.age.ms",
    "metadata.max.idle.ms",
    "metadata.recovery.strategy",
    "metric.reporters",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
)
_REFUSED = {
    "key.serializer": "keys are bytes; cast them in a select",
    "value.serializer": "values are bytes; cast them in a select",
    "partitioner.class": "a column partition says where a row goes, or its key",
    "interceptor.classes": "there is no producer in Java to put them in",
    "transactional.id": "each task writes by itself, and Spark does not tell it which"
    " batch that is: rows are there at least once. `odradek pipeline load` writes a"
    " table exactly once",
}


@dataclass(frozen=True)
class WriteOptions:
    """What was asked for; goes to the tasks as it is."""

    bootstrap: tuple[Address, ...]
    topic: str = ""
    client_id: str = "odradek-spark"
    timeout_s: float = 30.0
    settings: ProducerSettings = field(default_factory=ProducerSettings)
    access: Access = OPEN


def read_write_options(given: Mapping[str, str]) -> WriteOptions:
    """The options of a write.

    Raises:
        BadOption: which option cannot be so, and why.
    """
    values = {name.lower(): value for name, value in given.items()}
    for name in values:
        _check_name(name)
    access = _access(values)
    timeout_ms = _number(values, "request.timeout.ms", 30_000)
    return WriteOptions(
        bootstrap=_bootstrap(values, access),
        topic=values.get("topic", "").strip(),
        client_id=values.get(PREFIX + "client.id") or WriteOptions.client_id,
        timeout_s=timeout_ms / 1000,
        settings=_settings(values, timeout_ms),
        access=access,
    )


def _check_name(name: str) -> None:
    own = [*_OWN, *_OF_SPARK]
    if name in map(str.lower, own):
        return
    if not name.startswith(PREFIX):
        known = [*_OWN, *(PREFIX + each for each in _USED)]
        raise BadOption(
            name, f"writing has none of this name.{did_you_mean(name, known)}"
        )
    config = name.removeprefix(PREFIX)
    if config in _REFUSED:
        raise BadOption(name, f"cannot be set: {_REFUSED[config]}.")
    if is_of_security(config):
        try:
            check_names([config])
        except SecurityOptionError as error:
            raise BadOption(name, f"{error.reason}.") from None
    elif config not in (*_USED, *_IGNORED):
        known = [PREFIX + each for each in sorted((*_USED, *_IGNORED, *SECURITY))]
        raise BadOption(
            name, f"a producer has no such option.{did_you_mean(name, known)}"
        )


def _access(values: Mapping[str, str]) -> Access:
    given = {
        name.removeprefix(PREFIX): value
        for name, value in values.items()
        if name.startswith(PREFIX)
    }
    try:
        return Access.of(given, values.get("commandconfig", "").strip())
    except SecurityOptionError as error:
        raise BadOption(PREFIX + error.option, f"{error.reason}.") from None
    except ClientFileError as error:
        raise BadOption("commandConfig", f"{error}.") from None


def _bootstrap(values: Mapping[str, str], access: Access) -> tuple[Address, ...]:
    text = values.get(BOOTSTRAP) or access.bootstrap_servers()
    if not text:
        raise BadOption(BOOTSTRAP, "says where the brokers are: host:port,host:port.")
    try:
        return tuple(parse_addresses(text))
    except ValueError as error:
        raise BadOption(BOOTSTRAP, f"{error}.") from None


def _settings(values: Mapping[str, str], timeout_ms: int) -> ProducerSettings:
    usual = ProducerSettings()
    acks = _one_of(values, "acks", _ACKS, usual.acks)
    is_idempotent = _one_of(values, "enable.idempotence", _BOOLEANS, acks == usual.acks)
    if is_idempotent and acks != usual.acks:
        raise BadOption(
            PREFIX + "enable.idempotence", "takes acks=all; leave one of them out."
        )
    codecs = {name: number for number, name in enumerate(_CODECS)}
    return ProducerSettings(
        acks=acks,
        compression=_one_of(values, "compression.type", codecs, usual.compression),
        idempotent=is_idempotent,
        batch_size=_number(values, "batch.size", usual.batch_size),
        request_size_max=_number(values, "max.request.size", usual.request_size_max),
        request_timeout_ms=timeout_ms,
        delivery_timeout_ms=_number(
            values, "delivery.timeout.ms", usual.delivery_timeout_ms
        ),
    )


def _one_of(
    values: Mapping[str, str], name: str, choices: Mapping[str, _Value], usual: _Value
) -> _Value:
    text = values.get(PREFIX + name)
    if text is None:
        return usual
    found = text.strip().lower()
    if found not in choices:
        hint = did_you_mean(found, list(choices))
        raise BadOption(
            PREFIX + name, f"is one of {', '.join(choices)}, and not {text!r}.{hint}"
        )
    return choices[found]


def _number(values: Mapping[str, str], name: str, usual: int) -> int:
    text = values.get(PREFIX + name)
    if text is None:
        return usual
    if not (text.strip().isascii() and text.strip().isdigit() and int(text)):
        raise BadOption(PREFIX + name, f"is a number of at least 1, and not {text!r}.")
    return int(text)
