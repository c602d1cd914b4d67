"""What options say of the other members of a cluster: one odradek has none.

A file for one node of Apache Kafka names that node alone, and starts odradek too. One
that names other controllers, or leaves controllers to others, is of a member of a
cluster: started from it, a broker of its own would answer in that one's place. One of
a broker alone joins that cluster (see `cluster_options`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .cluster_options import ROLES, SERVERS, VOTERS
from .options.member import ONE_COPY, copies_too_many

if TYPE_CHECKING:
    from .options.broker_config import BrokerConfig

_VOTER = re.compile(r"(\d+)@\S+:\d+")
_BOTH = {"broker", "controller"}
_ALONE = "one odradek is all of its cluster"
_JOIN = "to join the cluster of such controllers, set process.roles=broker"


class Refusal(NamedTuple):
    """The option that cannot be followed, and why."""

    name: str
    reason: str


def why_not_alone(config: BrokerConfig) -> Refusal | None:
    """What asks for other members; None where nothing does."""
    if config.is_member:
        return None
    for name, entries, ask in (
        (ROLES, config.process_roles, _of_roles),
        (VOTERS, config.controller_quorum_voters, _of_voters),
        (SERVERS, config.controller_quorum_bootstrap_servers, _of_servers),
    ):
        reason = ask(entries, config)
        if reason is not None:
            return Refusal(name, reason)
    many = copies_too_many(config)
    return None if many is None else Refusal(many, f"{ONE_COPY}; leave it out")


def _of_roles(roles: tuple[str, ...], _: BrokerConfig) -> str | None:
    if not roles or set(roles) == _BOTH:
        return None
    return (
        f"{_ALONE}; write broker,controller, or leave it out; write broker to be one of"
        " those that Apache Kafka's controllers have"
    )


def _of_voters(voters: tuple[str, ...], config: BrokerConfig) -> str | None:
    for voter in voters:
        found = _VOTER.fullmatch(voter)
        if found is None:
            return f"{voter!r} is not like 1@localhost:9093"
        if int(found[1]) != config.node_id:
            return (
                f"voter {voter} is another node than this one, whose node.id is "
                f"{config.node_id}, and {_ALONE}; name it alone, or leave it out;"
                f" {_JOIN}"
            )
    return None


def _of_servers(servers: tuple[str, ...], config: BrokerConfig) -> str | None:
    opened = {listener.name for listener in config.client_listeners}
    own = {
        str(listener.port)
        for listener in config.listeners
        if listener.name not in opened
    }
    if not servers or (len(servers) == 1 and servers[0].rpartition(":")[2] in own):
        return None
    return (
        f"they are controllers elsewhere, and {_ALONE}; name the own controller "
        f"listener alone, or leave it out; {_JOIN}"
    )
