from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.options.security.access import read_principals
from odradek.broker.handlers.security import acls as acls_module
from odradek.broker.handlers.security.acls import (
    refuse_create_acls,
    refuse_delete_acls,
)
from odradek.protocol.acl_entries import AclEntry, PatternType
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    ClusterAuthorizationFailed,
    ErrorCode,
    InvalidRequest,
    KafkaStorageError,
    SecurityDisabled,
)
from odradek.protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsRequest,
)
from tests.fakes.access import GROUP, entry
from tests.fakes.topics import TopicBroker, topic_broker

ROOT = "User:root"
READ = Operation.READ
ORDERS = entry(READ, "orders")
PREFIXED = entry(READ, "ord", prefixed=True)
GROUPS = entry(READ, "*", kind=GROUP, principal="User:*", host="10.0.0.1")
ALL = [ORDERS, PREFIXED, GROUPS]


@asynccontextmanager
async def broker_with_acls(directory: Path) -> AsyncIterator[TopicBroker]:
    options: dict[str, Any] = {
        "authorizer_class_name": "acl",
        "super_users": read_principals(ROOT),
    }
    async with topic_broker(directory, **options) as broker:
        yield broker


def creation(wanted: AclEntry) -> AclCreation:
    return AclCreation(
        resource_type=wanted.resource_type,
        resource_name=wanted.resource_name,
        resource_pattern_type=wanted.pattern_type,
        principal=wanted.principal,
        host=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission,
    )


def creating(*entries: AclEntry) -> CreateAclsRequest:
    return CreateAclsRequest(creations=[creation(each) for each in entries])


def describing(**wanted: Any) -> DescribeAclsRequest:
    every = {"resource_type_filter": 1, "operation": 1, "permission_type": 1}
    fields = {
        "resource_name_filter": None,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": None,
        "host_filter": None,
    }
    return DescribeAclsRequest(**{**every, **fields, **wanted})


async def described(broker: TopicBroker, **wanted: Any) -> list[AclEntry]:
    response = await broker.ask(describing(**wanted), 3, ROOT)
    return [
        AclEntry(
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for resource in response.resources
        for acl in resource.acls
    ]


async def test_without_an_authorizer_there_are_none(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        for request in (
            DescribeAclsRequest(),
            CreateAclsRequest(),
            DeleteAclsRequest(),
        ):
            with pytest.raises(SecurityDisabled):
                await broker.ask(request, 3)
    error = SecurityDisabled("no")
    refused = refuse_create_acls(creating(ORDERS, GROUPS), error)
    assert [each.error_code for each in refused.results] == [54, 54]
    request = DeleteAclsRequest(filters=[DeleteAclsFilter()])
    [result] = refuse_delete_acls(request, error).filter_results
    assert result.error_code == ErrorCode.SECURITY_DISABLED


async def test_what_was_created_is_described_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with broker_with_acls(tmp_path) as broker:
        response = await broker.ask(creating(*ALL, ORDERS), 3, ROOT)
        assert [each.error_code for each in response.results] == [0] * 4
        assert sorted(await described(broker)) == sorted(ALL)
    async with broker_with_acls(tmp_path) as broker:
        assert sorted(await described(broker)) == sorted(ALL)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"resource_type_filter": ResourceType.GROUP}, [GROUPS]),
        ({"resource_name_filter": "orders"}, [ORDERS]),
        (
            {
                "resource_name_filter": "orders",
                "pattern_type_filter": PatternType.MATCH,
                "resource_type_filter": ResourceType.TOPIC,
            },
            [ORDERS, PREFIXED],
        ),
        ({"pattern_type_filter": PatternType.PREFIXED}, [PREFIXED]),
        ({"principal_filter": "User:*"}, [GROUPS]),
        ({"host_filter": "10.0.0.1"}, [GROUPS]),
        ({"resource_name_filter": ""}, []),
        ({"operation": Operation.ALL}, []),
    ],
)
async def test_filters(
    wanted: dict[str, Any], found: list[AclEntry], tmp_path: Path
) -> None:
    """S022"""
    async with broker_with_acls(tmp_path) as broker:
        await broker.ask(creating(*ALL), 3, ROOT)
        assert sorted(await described(broker, **wanted)) == sorted(found)


async def test_what_matches_is_removed_and_shown(tmp_path: Path) -> None:
    async with broker_with_acls(tmp_path) as broker:
        await broker.ask(creating(*ALL), 3, ROOT)
        topics = DeleteAclsFilter(
            resource_type_filter=ResourceType.TOPIC,
            resource_name_filter=None,
            pattern_type_filter=PatternType.ANY,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        unknown = DeleteAclsFilter(operation=99)
        request = DeleteAclsRequest(filters=[topics, unknown])
        response = await broker.ask(request, 3, ROOT)
        done, refused = response.filter_results
        names = {each.resource_name for each in done.matching_acls}
        assert (done.error_code, names) == (0, {"orders", "ord"})
        assert refused.error_code == ErrorCode.INVALID_REQUEST
        assert await described(broker) == [GROUPS]


@pytest.mark.parametrize(
    "changes",
    [
        {"resource_name": ""},
        {"resource_type": ResourceType.CLUSTER},
        {"principal": "alice"},
        {"resource_type": ResourceType.ANY},
        {"pattern_type": PatternType.MATCH},
        {"pattern_type": PatternType.ANY},
        {"operation": Operation.ANY},
        {"operation": 99},
        {"permission": 1},
        {"permission": 0},
    ],
)
async def test_one_that_makes_no_sense_is_refused_alone(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    async with broker_with_acls(tmp_path) as broker:
        request = creating(ORDERS._replace(**changes), PREFIXED)
        response = await broker.ask(request, 3, ROOT)
        codes = [each.error_code for each in response.results]
        assert codes == [ErrorCode.INVALID_REQUEST, 0]
        assert await described(broker) == [PREFIXED]


async def test_what_is_odd_but_harmless_is_stored(tmp_path: Path) -> None:
    """A18"""
    odd = [
        ORDERS._replace(principal="User:"),
        ORDERS._replace(operation=Operation.IDEMPOTENT_WRITE),
        ORDERS._replace(host="10.0.0.0/8"),
        ORDERS._replace(resource_name="*", pattern_type=PatternType.PREFIXED),
    ]
    async with broker_with_acls(tmp_path) as broker:
        response = await broker.ask(creating(*odd), 3, ROOT)
        assert not any(each.error_code for each in response.results)
        assert sorted(await described(broker)) == sorted(odd)


async def test_an_unknown_filter_is_refused(tmp_path: Path) -> None:
    async with broker_with_acls(tmp_path) as broker:
        with pytest.raises(InvalidRequest):
            await described(broker, operation=99)


async def test_too_many_at_once_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with broker_with_acls(tmp_path) as broker:
        await broker.ask(creating(*ALL), 3, ROOT)
        monkeypatch.setattr(acls_module, "CHANGES_MAX", 2)
        with pytest.raises(InvalidRequest):
            await broker.ask(creating(*ALL), 3, ROOT)
        everything = DeleteAclsFilter(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        with pytest.raises(InvalidRequest):
            await broker.ask(DeleteAclsRequest(filters=[everything]), 3, ROOT)
        assert len(await described(broker)) == 3


async def test_who_may_not_alter_the_cluster_changes_none(tmp_path: Path) -> None:
    async with broker_with_acls(tmp_path) as broker:
        for request in (describing(), creating(ORDERS), DeleteAclsRequest()):
            with pytest.raises(ClusterAuthorizationFailed):
                await broker.ask(request, 3, "User:alice")


async def test_nothing_is_in_force_that_is_not_stored(tmp_path: Path) -> None:
    async with broker_with_acls(tmp_path) as broker:
        authorizer = broker.services.authorizer
        assert authorizer is not None
        authorizer.acls._catalog.failure = "the disk is gone"
        with pytest.raises(KafkaStorageError):
            await broker.ask(creating(ORDERS), 3, ROOT)
        assert not list(authorizer.acls)
