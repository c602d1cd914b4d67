from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.options.client_quotas import (
    refuse_alter_client_quotas,
    refuse_describe_client_quotas,
)
from odradek.protocol.errors import (
    InvalidRequest,
    KafkaError,
    KafkaStorageError,
    UnsupportedVersion,
)
from odradek.protocol.messages.client_quotas import (
    AlterClientQuotasRequest,
    AlteredQuotaEntry,
    ComponentData,
    DescribeClientQuotasRequest,
    EntityData,
    OpData,
)
from tests.fakes.topics import TopicBroker, topic_broker

Names = dict[str, str | None]
EXACT, DEFAULT, ANY = range(3)


def change(names: Names, *remove: str, **values: float) -> AlteredQuotaEntry:
    return AlteredQuotaEntry(
        entity=[EntityData(entity_type=k, entity_name=n) for k, n in names.items()],
        ops=[
            *(OpData(key=key, value=value) for key, value in values.items()),
            *(OpData(key=key, remove=True) for key in remove),
        ],
    )


async def alter(
    broker: TopicBroker, *entries: AlteredQuotaEntry, validate_only: bool = False
) -> list[str | None]:
    request = AlterClientQuotasRequest(
        entries=list(entries), validate_only=validate_only
    )
    answer = await broker.ask(request, 1)
    return [entry.error_message for entry in answer.entries]


async def shown(
    broker: TopicBroker, *components: tuple[str, int, str | None], strict: bool = False
) -> list[tuple[Names, dict[str, float]]]:
    request = DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=match_type, match=name)
            for kind, match_type, name in components
        ],
        strict=strict,
    )
    answer: Any = await broker.ask(request, 1)
    return [
        (
            {part.entity_type: part.entity_name for part in entry.entity},
            {each.key: each.value for each in entry.values},
        )
        for entry in answer.entries
    ]


U: Names = {"user": "u"}
UC: Names = {"user": "u", "client-id": "c"}
ANYBODY: Names = {"user": None}


async def test_quotas_are_set_shown_and_removed(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        entries = [
            change(U, producer_byte_rate=10, request_percentage=0.5),
            change(UC, consumer_byte_rate=20),
            change(ANYBODY, producer_byte_rate=30),
            change({"ip": "127.0.0.1"}, connection_creation_rate=3),
        ]
        assert await alter(broker, *entries, validate_only=True) == [None] * 4
        assert await shown(broker) == []
        assert await alter(broker, *entries) == [None] * 4
        of_u = (U, {"producer_byte_rate": 10.0, "request_percentage": 0.5})
        of_both = (UC, {"consumer_byte_rate": 20.0})
        of_anybody = (ANYBODY, {"producer_byte_rate": 30.0})
        of_address = ({"ip": "127.0.0.1"}, {"connection_creation_rate": 3.0})
        assert await shown(broker) == [of_u, of_both, of_anybody, of_address]
        assert await shown(broker, strict=True) == []
        assert await shown(broker, ("user", EXACT, "u")) == [of_u, of_both]
        assert await shown(broker, ("user", EXACT, "u"), strict=True) == [of_u]
        assert await shown(broker, ("user", DEFAULT, None)) == [of_anybody]
        assert await shown(broker, ("user", ANY, None)) == [of_u, of_both, of_anybody]
        assert await shown(broker, ("client-id", ANY, None)) == [of_both]
        await alter(broker, change(U, "request_percentage", "producer_byte_rate"))
        assert await shown(broker, ("user", EXACT, "u")) == [of_both]
    async with topic_broker(tmp_path) as broker:
        kept = await shown(broker)
        assert len(kept) == 3
        assert all(each in kept for each in (of_both, of_anybody, of_address))


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (change({}, producer_byte_rate=1), "Invalid empty client quota entity"),
        (change({"foo": "x"}, producer_byte_rate=1), "Unhandled client quota entity"),
        (change({"user": ""}, producer_byte_rate=1), "Empty user not supported"),
        (change({"ip": "a", "user": "u"}), "an address stands alone"),
        (change({"ip": "no address !"}), "not a valid IP or resolvable host"),
        (change({"ip": None}, producer_byte_rate=1), "Invalid configuration key"),
        (change(U, connection_creation_rate=1), "Invalid configuration key"),
        (change(U, nope=1), "Invalid configuration key nope"),
        (change(U, producer_rate=1), "producer_rate; did you mean producer_byte_rate?"),
        (change(U, producer_byte_rate=0), "must be greater than 0"),
        (change(U, producer_byte_rate=float("nan")), "must be greater than 0"),
        (change(U, producer_byte_rate=1.5), "cannot be a fractional value"),
        (change(U, producer_byte_rate=1e300), "too large for a LONG"),
        (change(U, "producer_byte_rate", producer_byte_rate=1), "comes twice"),
    ],
)
async def test_what_cannot_be_is_refused(
    tmp_path: Path, entry: AlteredQuotaEntry, complaint: str
) -> None:
    async with topic_broker(tmp_path) as broker:
        [message] = await alter(broker, entry)
        assert complaint in (message or "")
        assert await shown(broker) == []


async def test_an_entity_that_comes_twice_is_refused_twice(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        entry = change(U, producer_byte_rate=1)
        messages = await alter(broker, entry, change(UC, producer_byte_rate=1), entry)
        assert [message is None for message in messages] == [False, True, False]


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([("foo", ANY, None)], UnsupportedVersion),
        ([("", ANY, None)], InvalidRequest),
        ([("user", ANY, None), ("user", EXACT, "u")], InvalidRequest),
        ([("user", ANY, None), ("ip", ANY, None)], InvalidRequest),
        ([("user", 5, None)], InvalidRequest),
        ([("user", EXACT, None)], InvalidRequest),
        ([("user", DEFAULT, "u")], InvalidRequest),
    ],
)
async def test_an_odd_filter_is_refused(
    tmp_path: Path,
    components: list[tuple[str, int, str | None]],
    error: type[KafkaError],
) -> None:
    async with topic_broker(tmp_path) as broker:
        with pytest.raises(error):
            await shown(broker, *components)


def test_a_refused_request_has_the_error_everywhere() -> None:
    error = KafkaStorageError("no")
    asked = refuse_describe_client_quotas(DescribeClientQuotasRequest(), error)
    assert (asked.error_message, asked.entries) == ("no", None)
    request = AlterClientQuotasRequest(entries=[change(U)])
    [entry] = refuse_alter_client_quotas(request, error).entries
    assert entry.error_message == "no"
