from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from odradek.protocol.schema import Request
from tests.fakes.topics import topic_broker


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (CreateDelegationTokenRequest(), 3),
        (RenewDelegationTokenRequest(), 2),
        (ExpireDelegationTokenRequest(), 2),
        (DescribeDelegationTokenRequest(owners=None), 3),
    ],
    ids=["create", "renew", "expire", "describe"],
)
async def test_without_a_login_there_are_no_tokens(
    tmp_path: Path, request_: Request, version: int
) -> None:
    async with topic_broker(tmp_path) as broker:
        answer = await broker.ask(request_, version)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
