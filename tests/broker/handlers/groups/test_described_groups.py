from pathlib import Path

from odradek.broker.handlers.authorized_operations import ALL_ON_GROUP
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import ErrorCode
from tests.broker.handlers.groups.test_streams_groups import allow, members
from tests.fakes.access import fake_authorizer


async def test_those_that_cannot_be_come_first(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.join()
        found = await group.describe("g", "")
        assert [each.error_code for each in found] == [ErrorCode.INVALID_GROUP_ID, 0]


async def test_of_each_group_what_may_be_done_to_it(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.join()
        found = await group.describe("g", "h", include_authorized_operations=True)
        assert found[0].authorized_operations == ALL_ON_GROUP
        assert found[1].authorized_operations < 0


async def test_who_may_not_see_a_group_is_told_so(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        allowed = allow(Operation.DESCRIBE, ResourceType.GROUP, "other")
        group.services.authorizer, _ = fake_authorizer(allowed)
        (refused,) = await group.describe("g")
        assert refused.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
