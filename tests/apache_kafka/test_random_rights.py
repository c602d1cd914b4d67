"""Random users ask both brokers for random things, under random entries: the codes are
the same, in the same places; S018, S020 and S022 by chance.
"""

import random
from collections.abc import Iterator

import pytest

from odradek.protocol.acl_entries import AclEntry, PatternType
from odradek.protocol.api_keys import ApiKey
from tests.apache_kafka.guarded_nodes import ROOT, GuardedNode, guarded_nodes
from tests.apache_kafka.places import places, renamed
from tests.apache_kafka.random_rights import (
    GROUPS,
    ID_OF,
    IDS,
    KEPT,
    TOPICS,
    USERS,
    drawn_entries,
    drawn_request,
)
from tests.broker.handlers.needs_of_apis import committing

# `test_rights` asks the same of every API, once.
pytestmark = pytest.mark.long
SEEDS = range(30)
REQUESTS = 200
FILTERS = 40

Nodes = tuple[GuardedNode, GuardedNode]


@pytest.fixture(
    scope="module",
    params=["false", "true"],
    ids=["untouched-denied", "untouched-allowed"],
)
def nodes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nodes]:
    options = {
        "allow_everyone_if_no_acl_found": request.param,
        "auto_create_topics_enable": "false",
    }
    with guarded_nodes(tmp_path_factory.mktemp("random"), USERS, **options) as nodes:
        for node in nodes:
            prepare(node)
        yield nodes


def prepare(node: GuardedNode) -> None:
    """All the names are there, but one."""
    node.create_topics([*TOPICS, KEPT])
    for key_type, keys in enumerate((GROUPS, IDS)):
        for key in keys:
            asked = {"key_type": key_type, "key": key}
            node.settle(ApiKey.FIND_COORDINATOR, 2, asked)
    for group in GROUPS:
        names = {"g": group, "t": KEPT}
        node.settle(ApiKey.OFFSET_COMMIT, 9, renamed(committing(), names))
    for each in IDS:
        who = {"transactional_id": each, "transaction_timeout_ms": 60_000}
        new = {"producer_id": -1, "producer_epoch": -1}
        node.settle(ApiKey.INIT_PRODUCER_ID, 4, who | new)


def ids_of_topics(node: GuardedNode) -> dict[str, bytes]:
    asked = {"topics": [{"name": name} for name in TOPICS]}
    answer = node.ask(ROOT, ApiKey.METADATA, 12, asked)
    return {ID_OF + topic.name: bytes(topic.topic_id) for topic in answer.topics}


@pytest.mark.parametrize("seed", SEEDS)
def test_codes_and_their_places(nodes: Nodes, seed: int) -> None:
    """S018, S020"""
    draw = random.Random(seed)
    entries = drawn_entries(draw)
    ids = [ids_of_topics(node) for node in nodes]
    for node in nodes:
        node.become(entries)
    differing = []
    for number in range(REQUESTS):
        user, api, version, values = asked = drawn_request(draw, number)
        ours, kafka = (
            places(api, node.ask(user, api, version, renamed(values, own)))
            for node, own in zip(nodes, ids, strict=True)
        )
        if ours != kafka:
            more = [each for each in ours if each not in kafka]
            less = [each for each in kafka if each not in ours]
            differing.append(f"{number} {asked}: ours {more}, Apache Kafka {less}")
    assert not differing, "\n".join([*differing, *map(str, entries)])


def drawn_filter(draw: random.Random, entries: list[AclEntry]) -> dict[str, object]:
    """Of an entry that is there, some of it; or of none."""
    like = draw.choice(entries)
    name = draw.choice((None, None, like.resource_name, "tab", "*", "x"))
    pattern = draw.choice(tuple(PatternType)[1:])
    return {
        "resource_type_filter": draw.choice((1, 1, like.resource_type)),
        "resource_name_filter": name,
        "pattern_type_filter": int(pattern),
        "principal_filter": draw.choice((None, None, like.principal, "User:nobody")),
        "host_filter": draw.choice((None, None, like.host)),
        "operation": draw.choice((1, 1, 1, like.operation)),
        "permission_type": draw.choice((1, 1, like.permission)),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_filters_find_the_same(nodes: Nodes, seed: int) -> None:
    """S022: names that are none, literals, prefixes, and what matches a name."""
    draw = random.Random(seed)
    entries = [each for _ in range(3) for each in drawn_entries(draw)]
    for node in nodes:
        node.become(entries)
    found = 0
    for _ in range(FILTERS):
        wanted = drawn_filter(draw, entries)
        ours, kafka = (node.entries(**wanted) for node in nodes)
        assert ours == kafka, wanted
        found += len(ours)
    assert found
    wanted = drawn_filter(draw, entries)
    deleting = {"filters": [wanted, drawn_filter(draw, entries)]}
    answers = [node.ask(ROOT, ApiKey.DELETE_ACLS, 3, deleting) for node in nodes]
    ours, kafka = (
        [
            sorted(str(each) for each in result.matching_acls)
            for result in answer.filter_results
        ]
        for answer in answers
    )
    assert ours == kafka, deleting
    for node in nodes:
        for each in deleting["filters"]:
            node.wait_until_gone(each)
    assert nodes[0].entries() == nodes[1].entries()
