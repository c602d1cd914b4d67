"""APIs by their names."""

import pytest

from odradek.broker.control.apis import API_NAMES, about, key_of_api, name_of_api
from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import REQUESTS


def test_names_are_those_of_the_messages() -> None:
    about(ApiKey.PRODUCE)  # loads them
    for name, key in API_NAMES.items():
        assert REQUESTS[key].__name__ == f"{name}Request"
        assert key_of_api(name.lower()) == key
    assert name_of_api(9999) == "9999"


def test_a_name_that_nobody_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(AdminError, match="did you mean EndTxn"):
        key_of_api("EndTx")
    with pytest.raises(AdminError, match=r"there is no API 'zzz'$"):
        key_of_api("zzz")


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("Produce", {"topic", "partition", "transactional_id"}),
        ("Fetch", {"topic", "partition"}),
        ("Metadata", {"topic", "partition"}),
        ("OffsetCommit", {"group", "topic", "partition"}),
        ("FindCoordinator", {"group", "transactional_id"}),
        ("Heartbeat", {"group"}),
        ("AddPartitionsToTxn", {"transactional_id", "topic", "partition"}),
        ("ApiVersions", set()),
    ],
)
def test_what_requests_can_be_about(name: str, kinds: set[str]) -> None:
    assert about(API_NAMES[name]) == kinds
