"""What a broker says when clients can connect: to people, to scripts, to machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.runtime.logs import JSON, event_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.network.listener import Listener


def ready_line(
    config: BrokerConfig, listeners: Sequence[Listener], http_port: int | None
) -> str:
    """Where it listens, and what it promises.

    Where the lines of the log are JSON this is one too, with all of that in fields;
    and whatever it is, the words of ``ready.words`` are lines of the same kind.
    """
    addresses = ", ".join(
        f"{listener.host or '*'}:{listener.port}" for listener in listeners
    )
    data = ", ".join(str(directory) for directory in config.log_dirs)
    if not data.startswith(("/", ".")):
        data = f"./{data}"
    line = (
        f"odradek ready on {addresses}, data in {data}, durability {config.durability}"
    )
    if config.logging_format != JSON:
        return "\n".join((line, *config.ready_words))
    event = event_line(
        line,
        listeners=[
            {"name": each.name, "host": each.host, "port": each.port}
            for each in listeners
        ],
        http_port=http_port,
        data=[str(directory) for directory in config.log_dirs],
        durability=config.durability,
    )
    return "\n".join((event, *(event_line(each) for each in config.ready_words)))
