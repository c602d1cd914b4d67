"""Options of topics and brokers as arguments say them: ``name=value``."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.refusals import Refused
from odradek.terminal.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

    from odradek.client.cluster import Cluster
    from odradek.client.configs import ConfigResource


def name_value(text: str) -> tuple[str, str]:
    """An option and its value; for ``type=``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(
            f"{text!r} sets nothing; write it like retention.ms=86400000"
        )
    return name.strip(), value.strip()


def name_only(text: str) -> str:
    """The name of an option to delete; for ``type=``."""
    if not text.strip() or "=" in text:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be the name of an option")
    return text.strip()


def see_that_there_are(
    cluster: Cluster, resource: ConfigResource, names: Collection[str]
) -> None:
    """See that these options, which are to be the default again, exist.

    Brokers do not mind where one does not, and nothing would come of a misspelt name.
    Who may not see options is believed.

    Raises:
        Refused: there is no such option; the message has the one that was meant.
    """
    from odradek.client.configs import describe_configs
    from odradek.protocol.errors import KafkaError

    known: list[str] = []
    if names and resource.name:  # all brokers at once show only what is set
        with suppress(KafkaError):
            known = [each.name for each in describe_configs(cluster, resource)]
    for name in names if known else ():
        if name not in known:
            meant = did_you_mean(name, known)
            hint = f"; did you mean {meant}?" if meant else ""
            raise Refused(f"there is no option {name}{hint}", name="INVALID_CONFIG")
