from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode, SecurityDisabled
from odradek.protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsRequest,
)
from tests.fakes.topics import topic_broker


async def test_there_is_no_authorizer(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        with pytest.raises(SecurityDisabled):
            await broker.ask(DescribeAclsRequest(), 3)
        create = CreateAclsRequest(creations=[AclCreation(), AclCreation()])
        results = (await broker.ask(create, 3)).results
        assert [each.error_code for each in results] == [
            ErrorCode.SECURITY_DISABLED
        ] * 2
        delete = DeleteAclsRequest(filters=[DeleteAclsFilter()])
        [result] = (await broker.ask(delete, 3)).filter_results
        assert result.error_code == ErrorCode.SECURITY_DISABLED
