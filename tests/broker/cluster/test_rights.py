from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cluster.rights import (
    publish_acls,
    publish_tokens,
    warn_of_open_controllers,
)
from odradek.broker.metadata.acls import Acls
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.delegation_token import DelegationToken
from odradek.broker.metadata.delegation_tokens import DelegationTokens, TokenTimes
from odradek.broker.quorum.image.image import EMPTY, MetadataImage, TokenImage
from odradek.protocol.acls import Operation
from odradek.protocol.errors import RequestTimedOut
from odradek.protocol.messages.acls import DescribeAclsRequest, DescribeAclsResponse
from tests.fakes.access import entry
from tests.fakes.clock import FakeClock

READ, WRITE = entry(Operation.READ, "a"), entry(Operation.WRITE, "b")
LENT = TokenImage("User:alice", "User:bob", ("User:carol",), 1, 30, 20)


async def test_rights_are_those_of_the_cluster(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    acls, told = Acls(catalog), []
    acls.watch(lambda: told.append(list(acls)))
    await acls.add([WRITE])  # of the broker before, and gone meanwhile
    first = MetadataImage(acls={b"1": READ})
    await publish_acls(acls, EMPTY, first)
    second = first._replace(acls={b"1": READ, b"2": WRITE})
    await publish_acls(acls, first, second)
    await publish_acls(acls, second, second._replace(offset=9))
    await publish_acls(acls, second, second._replace(acls={}))
    assert told == [[WRITE], [READ], [READ, WRITE], []]
    await catalog.close()


async def test_tokens_are_those_of_the_cluster(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    tokens = DelegationTokens(catalog, FakeClock(), "secret", TokenTimes(9, 9))
    gone = await tokens.create("User:alice", "User:alice", (), -1)
    first = MetadataImage(tokens={"lent": LENT})
    await publish_tokens(tokens, EMPTY, first)
    (found,) = tokens
    assert found == DelegationToken(
        "lent", "User:alice", "User:bob", ("User:carol",), 1, 20, 30
    )
    assert tokens.get(gone.token_id) is None
    renewed = LENT._replace(expiration_timestamp_ms=25)
    await publish_tokens(tokens, first, MetadataImage(tokens={"lent": renewed}))
    assert [each.expiry_ms for each in tokens] == [25]
    await catalog.close()


class FakeControllers:
    def __init__(self, code: int | None) -> None:
        self._code = code

    async def ask_controller(self, request: Any, response_class: Any) -> Any:
        assert isinstance(request, DescribeAclsRequest)
        assert request.encode(3)
        if self._code is None:
            raise RequestTimedOut
        return DescribeAclsResponse(error_code=self._code)


@pytest.mark.parametrize(("code", "line_count"), [(54, 1), (0, 0), (31, 0), (None, 0)])
async def test_controllers_without_an_authorizer_are_told_of(
    caplog: pytest.LogCaptureFixture, code: int | None, line_count: int
) -> None:
    await warn_of_open_controllers(FakeControllers(code))
    said = [each for each in caplog.records if "no authorizer" in each.getMessage()]
    assert len(said) == line_count
