import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.metadata.topic import NewTopic
from odradek.broker.requests import audit
from odradek.broker.requests.audit import (
    AUDITED,
    note_auto_created,
    note_of_operator,
)
from odradek.broker.requests.context import ConnectionInfo, RequestContext
from odradek.broker.runtime.parked import Parked
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, InvalidRequest
from odradek.protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from odradek.protocol.messages.txn_admin import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

REQUEST = DeleteTopicsRequest(topic_names=["orders"], timeout_ms=5)
REFUSED = DeleteTopicsResponse(
    responses=[
        DeletableTopicResult(name="a"),
        DeletableTopicResult(name="b", error_code=ErrorCode.TOPIC_DELETION_DISABLED),
    ]
)


def audited(function: Any) -> Any:
    return audit.audited(function, DeleteTopicsResponse)


def context() -> RequestContext:
    services: Any = None
    info = ConnectionInfo(peer_host="10.0.0.9")
    return RequestContext(services, info, DeleteTopicsRequest.api_key, 1, 0, "tool")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[logging.LogRecord]:
    found: list[logging.LogRecord] = []
    logger = logging.getLogger("odradek.audit")
    monkeypatch.setattr(logger, "level", logging.INFO)
    monkeypatch.setattr(logger, "handle", found.append)
    logger.manager._clear_cache()  # type: ignore[attr-defined]
    return found


def test_a_change_is_told_with_who_made_it(events: list[logging.LogRecord]) -> None:
    answer = audited(lambda ctx, request: DeleteTopicsResponse())(context(), REQUEST)
    assert answer == DeleteTopicsResponse()
    (event,) = events
    told = vars(event)
    assert told["api"] == "DeleteTopics"
    assert (told["client"], told["address"]) == ("tool", "10.0.0.9")
    assert told["principal"] == "User:ANONYMOUS"
    assert told["request"]["topic_names"] == ["orders"]
    assert "refused" not in told
    assert "done" in event.getMessage()


def test_who_has_logged_in_is_told_by_name(events: list[logging.LogRecord]) -> None:
    asking = context()
    asking.connection.become("User:alice")
    audited(lambda ctx, request: DeleteTopicsResponse())(asking, REQUEST)
    assert vars(events[0])["principal"] == "User:alice"
    assert (
        events[0]
        .getMessage()
        .startswith("DeleteTopics by User:alice (tool) at 10.0.0.9 done: ")
    )


def test_an_operator_is_no_user(events: list[logging.LogRecord]) -> None:
    note_of_operator(REQUEST, None)
    assert vars(events[0])["principal"] == "operator"
    assert "by odradek at admin.sock done" in events[0].getMessage()


def test_what_was_refused_is_told_by_kafkas_names(
    events: list[logging.LogRecord],
) -> None:
    audited(lambda ctx, request: REFUSED)(context(), REQUEST)
    assert vars(events[0])["refused"] == ["TOPIC_DELETION_DISABLED"]


def test_a_handler_that_raises_is_told_and_goes_on_raising(
    events: list[logging.LogRecord],
) -> None:
    def handle(ctx: RequestContext, request: Any) -> None:
        raise InvalidRequest

    with pytest.raises(InvalidRequest):
        audited(handle)(context(), REQUEST)
    assert vars(events[0])["refused"] == ["INVALID_REQUEST"]


def test_a_parked_answer_is_told_when_it_is_there(
    events: list[logging.LogRecord],
) -> None:
    parked = Parked()
    answer = audited(lambda ctx, request: parked)(context(), REQUEST)
    assert not events
    parked.set_result(REFUSED)
    assert answer.result() == REFUSED
    assert len(events) == 1


async def test_a_coroutine_is_told_when_it_ends(
    events: list[logging.LogRecord],
) -> None:
    async def handle(ctx: RequestContext, request: Any) -> Any:
        await asyncio.sleep(0)
        return REFUSED

    assert await audited(handle)(context(), REQUEST) == REFUSED
    assert len(events) == 1


def test_secrets_are_not_told(events: list[logging.LogRecord]) -> None:
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_name="orders",
                configs=[
                    AlterableConfig(name="ssl.key.password", value="hush"),
                    AlterableConfig(name="retention.ms", value="5"),
                ],
            )
        ]
    )
    audited(lambda ctx, request: DeleteTopicsResponse())(context(), request)
    text = events[0].getMessage()
    assert "hush" not in text
    assert "(name retention.ms, config operation 0, value 5)" in text


@pytest.mark.parametrize(
    ("name", "is_told"),
    [
        ("listener.name.ssl.ssl.keystore.password", False),
        ("ssl.key.pasword", False),
        ("SSL.KEY.PASSWROD", False),
        ("ssl.keystore.key", False),
        ("ssl.keystor.kye", False),
        ("sasl.jaas.config", False),
        ("delegation.tokn.secret", False),
        ("ssl.keystore.location", True),
        ("ssl.key.file", True),
        ("retenton.ms", True),
    ],
)
def test_a_secret_may_be_misspelt(
    events: list[logging.LogRecord], name: str, is_told: bool
) -> None:
    configs = [AlterableConfig(name=name, value="hush")]
    resource = AlterConfigsResource(resource_name="1", configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    audited(lambda ctx, request: DeleteTopicsResponse())(context(), request)
    assert ("hush" in events[0].getMessage()) is is_told
    assert ("hush" in str(vars(events[0])["request"])) is is_told


def test_a_long_list_is_cut(events: list[logging.LogRecord]) -> None:
    request = DeleteTopicsRequest(topic_names=[f"t{n}" for n in range(100)])
    audited(lambda ctx, request: DeleteTopicsResponse())(context(), request)
    assert vars(events[0])["request"]["topic_names"][-1] == "80 more"


def test_the_text_has_words_and_no_python(events: list[logging.LogRecord]) -> None:
    topic_id = bytes(range(16))
    request = DeleteTopicsRequest(
        topics=[
            DeleteTopicState(name="orders"),
            DeleteTopicState(name=None, topic_id=topic_id),
        ],
        timeout_ms=5,
    )
    audited(lambda ctx, request: DeleteTopicsResponse())(context(), request)
    assert events[0].getMessage() == (
        "DeleteTopics by tool at 10.0.0.9 done: topics (name orders), "
        "(topic id AAECAwQFBgcICQoLDA0ODw), timeout ms 5"
    )
    asked = vars(events[0])["request"]
    assert asked["topics"][0] == {"name": "orders"}
    assert asked["topics"][1] == {"topic_id": "AAECAwQFBgcICQoLDA0ODw"}


def test_what_is_set_is_told_as_yes_and_what_is_not_is_left_out(
    events: list[logging.LogRecord],
) -> None:
    for validate_only in False, True:
        request = IncrementalAlterConfigsRequest(validate_only=validate_only)
        audited(lambda ctx, request: DeleteTopicsResponse())(context(), request)
    texts = [event.getMessage() for event in events]
    assert "validate only" not in texts[0]
    assert texts[1].endswith("validate only yes")


def test_topics_that_clients_make_by_asking_are_told(
    events: list[logging.LogRecord],
) -> None:
    note_auto_created(context(), [NewTopic("orders", 3, {}), NewTopic("users", 1, {})])
    assert events[0].getMessage() == (
        "AutoCreateTopics by tool at 10.0.0.9 done: topics "
        "(name orders, num partitions 3), (name users, num partitions 1)"
    )
    assert vars(events[0])["api"] == "AutoCreateTopics"


async def test_what_controllers_have_answered_is_read(
    events: list[logging.LogRecord],
) -> None:
    async def forward(ctx: RequestContext, request: Any) -> bytes:
        return REFUSED.encode(ctx.api_version)

    answer = await audited(forward)(context(), REQUEST)
    assert answer == REFUSED.encode(1)
    assert [vars(each)["refused"] for each in events] == [["TOPIC_DELETION_DISABLED"]]


async def test_what_was_changed_is_told_though_its_answer_cannot_be_read(
    events: list[logging.LogRecord],
) -> None:
    async def forward(ctx: RequestContext, request: Any) -> bytes:
        return b"\0"

    assert await audited(forward)(context(), REQUEST) == b"\0"
    assert [vars(each)["refused"] for each in events] == [
        ["an answer that cannot be read"]
    ]


def test_reading_is_not_audited() -> None:
    names = {key.name for key in AUDITED}
    assert not {"FETCH", "PRODUCE", "METADATA", "DESCRIBE_CONFIGS"} & names


@pytest.mark.parametrize(
    ("is_alone", "may", "is_told"),
    [
        (True, None, True),
        (False, None, False),
        (False, True, False),
        (False, False, True),
    ],
)
def test_what_brokers_do_all_the_time_is_told_of_others(
    events: list[logging.LogRecord], is_alone: bool, may: bool | None, is_told: bool
) -> None:
    """``may``: whether who asks may act as a broker; None: nobody looks."""
    access = SimpleNamespace(may=lambda *_: may)
    authorizer = SimpleNamespace(access_of=lambda *_: access)
    asking = context()
    asking.services = SimpleNamespace(  # type: ignore[misc]
        authorizer=None if may is None else authorizer
    )
    function = audit.with_audit(
        ApiKey.WRITE_TXN_MARKERS,
        lambda ctx, request: WriteTxnMarkersResponse(),
        WriteTxnMarkersResponse,
        is_alone=is_alone,
    )
    assert function(asking, WriteTxnMarkersRequest()) == WriteTxnMarkersResponse()
    assert bool(events) is is_told
