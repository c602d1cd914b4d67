"""What a broker of a cluster says of options before the controllers hear of them."""

import logging
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.options.configs_in_cluster import alter_configs_in_cluster
from odradek.protocol.errors import ErrorCode, RequestTimedOut
from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    ReplacedConfigsResource,
    ReplacingConfig,
)
from odradek.protocol.schema import RESPONSES
from tests.broker.handlers.options.test_alter_configs import (
    APPEND,
    BROKER,
    DELETE,
    LOGGER,
    SET,
    TOPIC,
    a_change,
)
from tests.fakes.topics import TopicBroker, topic_broker

VERSION = 1


class Controllers:
    """They agree to everything, or do not answer."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.is_away = False

    async def send_on(self, _: Any, request: Any) -> bytes:
        if self.is_away:
            raise RequestTimedOut
        self.asked.append(request)
        response = RESPONSES[request.api_key](
            responses=[
                AlterConfigsResourceResponse(
                    resource_type=each.resource_type, resource_name=each.resource_name
                )
                for each in request.resources
            ]
        )
        return bytes(response.encode(VERSION))

    def names(self) -> list[str]:
        return [each.resource_name for each in self.asked[-1].resources]


async def ask(broker: TopicBroker, controllers: Controllers, request: Any) -> Any:
    context = broker.context(request.api_key, VERSION)
    return await alter_configs_in_cluster(context, request, controllers.send_on)


def alter(*resources: Any, **more: Any) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(resources=list(resources), **more)


async def test_what_brokers_can_do_is_sent_on_as_it_is(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        controllers = Controllers()
        request = alter(
            a_change(("remote.storage.enable", SET, "true"), name="a"),
            a_change(("log.retention.ms", SET, "5"), name="", resource_type=BROKER),
            a_change(
                ("log.cleanup.policy", APPEND, "compact"),
                name=str(broker.services.node_id),
                resource_type=BROKER,
            ),
        )
        assert isinstance(await ask(broker, controllers, request), bytes)
        assert controllers.asked == [request]
        assert broker.services.live.current is broker.services.live.static


@pytest.mark.parametrize(
    ("name", "option", "value", "code", "words"),
    [
        ("", "lg.retention.ms", "1", ErrorCode.INVALID_CONFIG, "did you mean"),
        ("", "log.retention.ms", "soon", ErrorCode.INVALID_REQUEST, "retention"),
        ("", "log.dirs", "/x", ErrorCode.INVALID_REQUEST, "dynamically"),
        ("77", "log.retention.ms", "1", ErrorCode.INVALID_REQUEST, "Unexpected broker"),
    ],
)
async def test_what_no_broker_could_do_is_refused_and_the_rest_sent_on(
    tmp_path: Path, name: str, option: str, value: str, code: int, words: str
) -> None:
    async with topic_broker(tmp_path) as broker:
        controllers = Controllers()
        request = alter(
            a_change((option, SET, value), name=name, resource_type=BROKER),
            a_change(("retention.ms", SET, "5"), name="a"),
        )
        answer = await ask(broker, controllers, request)
        first, second = answer.responses
        assert first.error_code == code
        assert words in first.error_message
        assert (first.resource_type, first.resource_name) == (BROKER, name)
        assert (second.error_code, second.resource_name) == (0, "a")
        assert controllers.names() == ["a"]


async def test_who_may_not_change_options_has_nothing_looked_at(tmp_path: Path) -> None:
    """Key stores that are named would be opened, and passwords of theirs be tried."""
    async with topic_broker(tmp_path, authorizer_class_name="acl") as broker:
        controllers = Controllers()
        store = "listener.name.plaintext.ssl.keystore.location", SET, "/etc/passwd"
        one = a_change(store, name="", resource_type=BROKER)
        answer = await ask(broker, controllers, alter(one))
        (found,) = answer.responses
        assert found.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert controllers.asked == []


async def test_an_answer_that_cannot_be_read_is_the_controllers_fault(
    tmp_path: Path,
) -> None:
    class Broken(Controllers):
        async def send_on(self, _: Any, __: Any) -> bytes:
            return b"\0"

    async with topic_broker(tmp_path) as broker:
        wrong = a_change(("log.retention.ms", SET, "x"), name="", resource_type=BROKER)
        right = a_change(("retention.ms", SET, "5"), name="a")
        answer = await ask(broker, Broken(), alter(wrong, right))
        codes = [each.error_code for each in answer.responses]
        assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR]


async def test_a_broker_that_comes_twice_is_refused(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        controllers = Controllers()
        one = a_change(("log.retention.ms", SET, "5"), name="", resource_type=BROKER)
        answer = await ask(broker, controllers, alter(one, one))
        codes = [each.error_code for each in answer.responses]
        assert codes == [ErrorCode.INVALID_REQUEST] * 2
        assert controllers.asked == []


async def test_what_cannot_be_used_may_be_removed_and_is_in_nobodys_way(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        controllers = Controllers()
        live = broker.services.live
        live.change({"nonsense": "1", "log.retention.ms": "7"}, {})
        assert live.current.retention_ms == 7
        request = alter(
            a_change(
                ("nonsense", DELETE, None),
                ("log.roll.ms", SET, "5"),
                name="",
                resource_type=BROKER,
            )
        )
        assert isinstance(await ask(broker, controllers, request), bytes)


async def test_levels_of_loggers_are_set_here(tmp_path: Path) -> None:
    name = logging.getLogger("odradek.broker.test").name
    async with topic_broker(tmp_path) as broker:
        controllers = Controllers()
        ours = str(broker.services.node_id)
        request = alter(
            a_change((name, SET, "DEBUG"), name=ours, resource_type=LOGGER),
            a_change(("retention.ms", SET, "5"), name="a"),
        )
        answer = await ask(broker, controllers, request)
        assert [each.error_code for each in answer.responses] == [0, 0]
        assert controllers.names() == ["a"]
        assert logging.getLogger(name).level == logging.DEBUG
        logging.getLogger(name).setLevel(logging.NOTSET)


async def test_what_nobody_answers_is_told_of_what_was_asked(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        controllers = Controllers()
        controllers.is_away = True
        request = alter(
            a_change(("nonsense", SET, "1"), name="", resource_type=BROKER),
            a_change(("retention.ms", SET, "5"), name="a"),
        )
        answer = await ask(broker, controllers, request)
        codes = [each.error_code for each in answer.responses]
        assert codes == [ErrorCode.INVALID_CONFIG, ErrorCode.REQUEST_TIMED_OUT]
        alone = alter(a_change(("retention.ms", SET, "5"), name="a"))
        with pytest.raises(RequestTimedOut):
            await ask(broker, controllers, alone)


async def test_all_options_of_a_broker_at_once(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        controllers = Controllers()
        request = AlterConfigsRequest(
            resources=[
                ReplacedConfigsResource(
                    resource_type=kind,
                    resource_name=name,
                    configs=[ReplacingConfig(name=option, value="1")],
                )
                for kind, name, option in (
                    (BROKER, "", "nonsense"),
                    (LOGGER, str(broker.services.node_id), "odradek"),
                    (TOPIC, "a", "retention.ms"),
                )
            ]
        )
        answer = await ask(broker, controllers, request)
        assert [each.error_code for each in answer.responses] == [
            ErrorCode.INVALID_CONFIG,
            ErrorCode.INVALID_REQUEST,
            0,
        ]
        assert isinstance(controllers.asked[0], AlterConfigsRequest)
