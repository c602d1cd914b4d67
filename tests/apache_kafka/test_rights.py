"""S018: who has nothing, just enough, what implies it, less, or a deny, of every API:
both brokers have the same codes in the same places.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.api_keys import ApiKey
from tests.apache_kafka.guarded_nodes import ROOT, GuardedNode, guarded_nodes
from tests.apache_kafka.places import NEW, UNKNOWN_TOPIC, Place, places, renamed
from tests.broker.handlers.needed_rows import Need, Row
from tests.broker.handlers.needs_of_apis import ROWS, committing
from tests.broker.handlers.test_needs_of_apis import EVERYTHING, IMPLYING, entries
from tests.fakes.access import entry

# Of all users at once Apache Kafka never answers who may not see them.
ONE_USER = {"users": [{"name": "nobody"}]}
# What we say, and what Apache Kafka says. To who may not read a topic it tells its id,
# and so that it is there.
ID_OF_DENIED = ".responses[t].topic_id"
JUSTIFIED = [
    (
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        [(ID_OF_DENIED, False)],
        [(ID_OF_DENIED, True)],
    )
]


class Case(NamedTuple):
    """A request, and what its user may; ``how`` says it in words."""

    row: Row
    how: str
    entries: list[AclEntry]


def cases() -> Iterator[Case]:
    for row in ROWS:
        if row.api == ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS:
            row = row._replace(values=ONE_USER)
        yield Case(row, "nothing", [])
        for needs in row.alternatives:
            yield Case(row, "just enough", entries(needs))
            yield Case(row, "what implies it", entries(map(implying, needs)))
            for lacking in needs if len(needs) > 1 else ():
                rest = [need for need in needs if need != lacking]
                yield Case(row, f"all but {lacking}", entries(rest))
        yield Case(row, "a deny", [*EVERYTHING, *denies(row)])


def implying(need: Need) -> Need:
    operation, kind, name = need
    return IMPLYING.get(operation, Operation.ALL), kind, name


def denies(row: Row) -> list[AclEntry]:
    needed = {need for needs in row.alternatives for need in needs}
    found = entries(needed, denies=True)
    if row.api == ApiKey.INIT_PRODUCER_ID and row.denied == [31]:
        found.append(entry(Operation.WRITE, "*", denies=True))
    return found


def of_user(one: AclEntry, user: str) -> AclEntry:
    name = NEW + user if one.resource_name == "new" else one.resource_name
    return one._replace(principal=f"User:{user}", resource_name=name)


CASES = list(cases())
USERS = [f"user{number}" for number in range(len(CASES))]
# May join an application of Kafka Streams, and not make the topics that it needs.
STREAMS_USER = "streams"
OF_STREAMS = [
    entry(Operation.READ, "words", kind=ResourceType.GROUP),
    entry(Operation.DESCRIBE, "*"),
]


@pytest.fixture(scope="module")
def nodes(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[GuardedNode, GuardedNode]]:
    directory = tmp_path_factory.mktemp("rights")
    with guarded_nodes(directory, [*USERS, STREAMS_USER]) as nodes:
        every = [
            of_user(each, user)
            for user, case in zip(USERS, CASES, strict=True)
            for each in case.entries
        ]
        every += [of_user(each, STREAMS_USER) for each in OF_STREAMS]
        for node in nodes:
            prepare(node)
            node.become(every)
        yield nodes


def prepare(node: GuardedNode) -> None:
    """A topic, a group and a transactional id, all of them root's."""
    node.create_topics(["t"])
    for key_type, key in enumerate("gx"):
        node.settle(ApiKey.FIND_COORDINATOR, 2, {"key_type": key_type, "key": key})
    node.settle(ApiKey.OFFSET_COMMIT, 9, committing())
    who = {"transactional_id": "x", "transaction_timeout_ms": 60_000}
    new = {"producer_id": -1, "producer_epoch": -1}
    node.settle(ApiKey.INIT_PRODUCER_ID, 4, who | new)


def test_every_api_has_its_codes_where_apache_kafka_has_them(
    nodes: tuple[GuardedNode, GuardedNode],
) -> None:
    """S018"""
    differing: list[tuple[str, str, list[Place], list[Place]]] = []
    for user, (row, how, _) in zip(USERS, CASES, strict=True):
        values = renamed(row.values, {"new": NEW + user})
        ours, kafka = (
            places(row.api, node.ask(user, row.api, row.version, values))
            for node in nodes
        )
        if ours != kafka:
            more = [each for each in ours if each not in kafka]
            less = [each for each in kafka if each not in ours]
            if (row.api, more, less) not in JUSTIFIED:
                differing.append((f"{row.api.name} v{row.version}", how, more, less))
    assert not differing, "\n".join(map(str, differing))


def test_g043_who_may_not_make_internal_topics_is_told_so(
    nodes: tuple[GuardedNode, GuardedNode],
) -> None:
    """G043: in the same words; and none is made."""
    parts = [
        {
            "subtopology_id": "0",
            "source_topics": ["t"],
            "repartition_sink_topics": ["again"],
        },
        {
            "subtopology_id": "1",
            "repartition_source_topics": [{"name": "again"}],
            "state_changelog_topics": [{"name": "store"}],
        },
    ]
    joining = {
        "group_id": "words",
        "member_id": "m",
        "process_id": "p",
        "rebalance_timeout_ms": 60_000,
        "topology": {"epoch": 0, "subtopologies": parts},
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
    }
    internal = {
        "topics": [{"name": "again"}, {"name": "store"}],
        "allow_auto_topic_creation": False,
    }
    for node in nodes:
        answer = node.ask(STREAMS_USER, ApiKey.STREAMS_GROUP_HEARTBEAT, 0, joining)
        told = [(each.status_code, each.status_detail) for each in answer.status]
        assert told == [
            (5, "Assignment delayed due to the configured initial rebalance delay."),
            (
                3,
                "Internal topics are missing: again, store; Unauthorized to CREATE on "
                "topics again, store.",
            ),
        ]
        known = node.ask(ROOT, ApiKey.METADATA, 12, internal).topics
        assert [each.error_code for each in known] == [UNKNOWN_TOPIC] * 2
