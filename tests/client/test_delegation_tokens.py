from typing import Any

import pytest

from odradek.client.delegation_tokens import (
    create_token,
    describe_tokens,
    expire_token,
    renew_token,
)
from odradek.client.security.settings import Secret
from odradek.protocol.errors import DelegationTokenNotFound
from odradek.protocol.messages.delegation_tokens import (
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenResponse,
    TokenPrincipal,
)

NAMES: dict[str, Any] = {
    "principal_type": "User",
    "principal_name": "alice",
    "token_requester_principal_type": "User",
    "token_requester_principal_name": "bob",
    "token_id": "id",
    "hmac": b"\1\2",
}


class Asked:
    """Stands for a cluster, and answers what the test wants."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.requests: list[Any] = []

    def request(self, request: Any, response_class: Any) -> Any:
        self.requests.append(request)
        assert isinstance(self.answer, response_class)
        return self.answer


def test_a_token_is_made_for_somebody() -> None:
    times = {"issue_timestamp_ms": 1, "expiry_timestamp_ms": 2, "max_timestamp_ms": 3}
    asked: Any = Asked(CreateDelegationTokenResponse(**NAMES, **times))
    token = create_token(asked, ("User", "alice"), [("User", "carol")], 9)
    assert token[:7] == ("id", "User:alice", "User:bob", ["User:carol"], 1, 2, 3)
    assert token.hmac == Secret("AQI=")
    (request,) = asked.requests
    assert request.owner_principal_name == "alice"
    assert request.renewers[0].principal_name == "carol"
    assert request.max_lifetime_ms == 9
    create_token(asked)
    assert asked.requests[1].owner_principal_name is None


def test_tokens_are_shown() -> None:
    renewers = [TokenPrincipal(principal_type="User", principal_name="carol")]
    times = {"issue_timestamp": 1, "expiry_timestamp": 2, "max_timestamp": 3}
    shown = DescribedDelegationToken(**NAMES, **times, renewers=renewers)
    asked: Any = Asked(DescribeDelegationTokenResponse(tokens=[shown]))
    (token,) = describe_tokens(asked, [("User", "alice")])
    assert token.renewers == ["User:carol"]
    assert token.hmac.value == "AQI="
    describe_tokens(asked)
    assert [each.owners and len(each.owners) for each in asked.requests] == [1, None]


def test_its_secret_renews_and_ends_it() -> None:
    asked: Any = Asked(RenewDelegationTokenResponse(expiry_timestamp_ms=7))
    assert renew_token(asked, Secret("AQI="), 5) == 7
    assert asked.requests[0].hmac == b"\1\2"
    asked = Asked(ExpireDelegationTokenResponse(expiry_timestamp_ms=8))
    assert expire_token(asked, Secret("AQI=")) == 8
    assert asked.requests[0].expiry_time_period_ms == -1
    asked = Asked(ExpireDelegationTokenResponse(error_code=62))
    with pytest.raises(DelegationTokenNotFound):
        expire_token(asked, Secret("AQI="))
