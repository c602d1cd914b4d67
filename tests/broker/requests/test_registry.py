import pytest

from odradek.broker.requests import registry
from odradek.broker.requests.needs import NOTHING
from odradek.broker.requests.registry import NO_RESPONSE, Handler, handles
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_handlers", "_error_builders", "_refused_readers", "_shortcuts"):
        monkeypatch.setattr(registry, name, {})


def test_a_handler_is_found_by_its_key_with_its_response() -> None:
    @handles(HeartbeatRequest, versions=(1, 4), needs=NOTHING, advertised=(0, 3))
    def handle(ctx: object, request: object) -> None: ...

    handler = registry.registered_handlers()[ApiKey.HEARTBEAT]
    assert handler == Handler(
        HeartbeatRequest, HeartbeatResponse, handle, 1, 4, 0, 3, NOTHING
    )
    assert [handler.handles_version(v) for v in (0, 1, 4, 5)] == [0, 1, 1, 0]
    assert [handler.advertises_version(v) for v in (-1, 0, 3, 4)] == [0, 1, 1, 0]


def test_what_is_handled_is_advertised_unless_said_otherwise() -> None:
    handles(HeartbeatRequest, versions=(2, 3), needs=NOTHING)(lambda ctx, request: None)
    handler = registry.registered_handlers()[ApiKey.HEARTBEAT]
    assert (handler.advertised_min, handler.advertised_max) == (2, 3)


def test_an_api_has_one_handler() -> None:
    register = handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)
    register(lambda ctx, request: None)
    with pytest.raises(ValueError, match="two handlers of API 12"):
        register(lambda ctx, request: None)


def test_error_builders_and_readers_are_found_by_the_request() -> None:
    @registry.answers_errors(HeartbeatRequest)
    def build(request: object, error: object) -> None: ...

    @registry.reads_refused(HeartbeatRequest)
    def read(frame: memoryview, position: int) -> tuple[object, int]:
        return None, position

    assert registry.error_builder(HeartbeatRequest) is build
    assert registry.refused_reader(HeartbeatRequest) is read


def test_no_response_says_what_it_is() -> None:
    assert repr(NO_RESPONSE) == "NO_RESPONSE"


@pytest.mark.parametrize(
    ("api_key", "told"),
    [
        (ApiKey.SHARE_FETCH, "ShareFetch (API key 78) is not supported"),
        (1234, "there is no API with key 1234: is it a Kafka client?"),
        (-1, "there is no API with key -1: is it a Kafka client?"),
        (0x6082, "it logs in by SASL (GSSAPI"),
    ],
)
def test_who_asks_for_what_there_is_not_is_told_apart(api_key: int, told: str) -> None:
    assert registry.unsupported(api_key).startswith(told)
