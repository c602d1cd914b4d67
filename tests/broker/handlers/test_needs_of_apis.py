"""Every API of the table is asked by who may nothing, just enough, more, less."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from odradek.broker.handlers import load
from odradek.broker.requests.needs import NOTHING
from odradek.broker.requests.registry import registered_handlers
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.api_keys import ApiKey
from tests.fakes.access import entry
from tests.fakes.guarded_broker import ROOT, GuardedBroker, codes_in, guarded_broker
from tests.fakes.requests_by_name import request_of

from .needed_rows import Need, Row
from .needs_of_apis import ROWS, committing

OF_RIGHTS = {29, 30, 31, 53, 55, 65}
# What is over a listener without logins is refused to everybody: their own tests ask.
ASKED_BY_LOGINS = {
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
}
IMPLYING = {
    Operation.DESCRIBE: Operation.READ,
    Operation.DESCRIBE_CONFIGS: Operation.ALTER_CONFIGS,
}
EVERYTHING = [
    entry(
        Operation.ALL,
        "kafka-cluster" if kind is ResourceType.CLUSTER else "*",
        kind=kind,
    )
    for kind in (
        ResourceType.TOPIC,
        ResourceType.GROUP,
        ResourceType.CLUSTER,
        ResourceType.TRANSACTIONAL_ID,
    )
]


def entries(needs: Iterable[Need], *, denies: bool = False) -> list[AclEntry]:
    return [
        entry(operation, name, kind=kind, denies=denies)
        for operation, kind, name in needs
    ]


@asynccontextmanager
async def broker_with_all(directory: Path) -> AsyncIterator[GuardedBroker]:
    """With a topic, a group, a transactional id and more, all of them root's."""
    options = {"inter_broker_apis_enable": True}
    async with guarded_broker(directory, "t", "gone", **options) as broker:
        for api, version, values in (
            (ApiKey.FIND_COORDINATOR, 2, {"key_type": 0, "key": "g"}),
            (ApiKey.FIND_COORDINATOR, 2, {"key_type": 1, "key": "x"}),
            (ApiKey.OFFSET_COMMIT, 9, committing()),
            (
                ApiKey.INIT_PRODUCER_ID,
                4,
                {"transactional_id": "x", "transaction_timeout_ms": 60_000}
                | {"producer_id": -1, "producer_epoch": -1},
            ),
        ):
            answer = await broker.ask(request_of(api, values), version, ROOT)
            assert not codes_in(answer), answer
        yield broker


async def asked(broker: GuardedBroker, row: Row) -> tuple[list[int], bool]:
    """The codes of the answer, and whether it has what may be left out."""
    answer = await broker.ask(request_of(row.api, row.values), row.version)
    return codes_in(answer), bool(getattr(answer, row.listed, True))


def test_every_api_that_needs_something_is_in_the_table() -> None:
    load()
    needing = {
        key
        for key, handler in registered_handlers().items()
        if handler.needs != NOTHING
    }
    assert {row.api for row in ROWS} == needing - ASKED_BY_LOGINS


def test_what_the_table_needs_is_what_the_handlers_declare() -> None:
    load()
    for row in ROWS:
        declared = registered_handlers()[row.api].needs
        known = {
            (operation, need.resource_type)
            for need in (*declared.before, *declared.inside)
            for operation in (need.operation, need.otherwise)
        }
        wanted = {
            (operation, kind)
            for needs in row.alternatives
            for operation, kind, _ in needs
        }
        assert wanted <= known, row.api


async def test_who_may_nothing_is_denied_where_apache_kafka_denies(
    tmp_path: Path,
) -> None:
    """S018"""
    async with broker_with_all(tmp_path) as broker:
        broker.become()
        for row in ROWS:
            codes, is_listed = await asked(broker, row)
            assert codes == row.denied, row
            assert not (row.listed and is_listed), row


async def test_who_has_just_enough_gets_an_answer(tmp_path: Path) -> None:
    """S018"""
    async with broker_with_all(tmp_path) as broker:
        for row in ROWS:
            for needs in row.alternatives:
                broker.become(*entries(needs))
                codes, is_listed = await asked(broker, row)
                assert not OF_RIGHTS.intersection(codes), (row, needs, codes)
                assert is_listed, (row, needs)


async def test_who_has_what_implies_it_gets_one_too(tmp_path: Path) -> None:
    """S018"""
    async with broker_with_all(tmp_path) as broker:
        for row in ROWS:
            for needs in row.alternatives:
                implying = [
                    (IMPLYING.get(operation, Operation.ALL), kind, name)
                    for operation, kind, name in needs
                ]
                broker.become(*entries(implying))
                codes, is_listed = await asked(broker, row)
                assert not OF_RIGHTS.intersection(codes), (row, needs, codes)
                assert is_listed, (row, needs)


async def test_who_lacks_one_of_them_is_denied_something(tmp_path: Path) -> None:
    async with broker_with_all(tmp_path) as broker:
        for row in ROWS:
            for needs in row.alternatives:
                for lacking in needs if len(needs) > 1 else ():
                    broker.become(*entries(set(needs) - {lacking}))
                    codes, _ = await asked(broker, row)
                    assert OF_RIGHTS.intersection(codes), (row, lacking)


async def test_a_deny_wins_over_everything_else(tmp_path: Path) -> None:
    """S018"""
    async with broker_with_all(tmp_path) as broker:
        for row in ROWS:
            denied = entries(
                {need for needs in row.alternatives for need in needs}, denies=True
            )
            if row.api == ApiKey.INIT_PRODUCER_ID and row.denied == [31]:
                every_topic = entry(Operation.WRITE, "*", denies=True)
                denied.append(every_topic)
            broker.become(*EVERYTHING, *denied)
            codes, _ = await asked(broker, row)
            # Of all topics and ids others are still there to be seen.
            assert row.listed or codes == row.denied, row


async def test_the_super_user_is_asked_nothing(tmp_path: Path) -> None:
    async with broker_with_all(tmp_path) as broker:
        broker.become(
            *(
                deny._replace(principal="User:*")
                for deny in entries(
                    {
                        need
                        for row in ROWS
                        for needs in row.alternatives
                        for need in needs
                    },
                    denies=True,
                )
            )
        )
        for row in ROWS:
            request = request_of(row.api, row.values)
            codes = codes_in(await broker.ask(request, row.version, ROOT))
            assert not OF_RIGHTS.intersection(codes), row
