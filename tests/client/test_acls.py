from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from odradek.client.acls import create_acls, delete_acls, describe_acls
from odradek.client.cluster import Cluster
from odradek.protocol.acl_entries import (
    AclEntry,
    AclFilter,
    PatternType,
    Permission,
)
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import InvalidRequest, SecurityDisabled
from odradek.protocol.messages.acls import (
    AclCreationResult,
    AclDescription,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from odradek.protocol.schema import Request, Response
from tests.fakes.scripted import scripted_cluster


@contextmanager
def answering(**answers: Response) -> Iterator[Cluster]:
    """A cluster that answers so, by the names of the requests."""
    kinds: dict[str, type[Request]] = {
        "describe": DescribeAclsRequest,
        "create": CreateAclsRequest,
        "delete": DeleteAclsRequest,
    }
    with scripted_cluster(1) as script, script.client() as cluster:
        for name, answer in answers.items():
            script.script(kinds[name], lambda *_, answer=answer: answer)
        yield cluster


ENTRY = AclEntry(
    ResourceType.TOPIC,
    "orders-",
    PatternType.PREFIXED,
    "User:alice",
    "*",
    Operation.READ,
    Permission.ALLOW,
)


def test_entries_are_described() -> None:
    resource = DescribeAclsResource(
        resource_type=2,
        resource_name="orders-",
        pattern_type=4,
        acls=[
            AclDescription(
                principal="User:alice", host="*", operation=3, permission_type=3
            )
        ],
    )
    answer = DescribeAclsResponse(resources=[resource])
    with answering(describe=answer) as cluster:
        assert describe_acls(cluster) == [ENTRY]
        assert describe_acls(cluster, AclFilter(principal="User:alice")) == [ENTRY]


def test_who_does_not_say_raises() -> None:
    described = DescribeAclsResponse(error_code=54, error_message="No.")
    results = [
        AclCreationResult(),
        AclCreationResult(error_code=42, error_message="x"),
    ]
    created = CreateAclsResponse(results=results)
    with answering(describe=described, create=created) as cluster:
        with pytest.raises(SecurityDisabled, match=r"No\."):
            describe_acls(cluster)
        with pytest.raises(InvalidRequest, match="x"):
            create_acls(cluster, [ENTRY, ENTRY])


def test_what_was_deleted_is_told_once() -> None:
    matching = DeleteAclsMatchingAcl(
        resource_type=2,
        resource_name="orders-",
        pattern_type=4,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    result = DeleteAclsFilterResult(matching_acls=[matching])
    answer = DeleteAclsResponse(filter_results=[result, result])
    with answering(delete=answer) as cluster:
        assert delete_acls(cluster, [AclFilter(), AclFilter()]) == [ENTRY]
    refused = DeleteAclsFilterResult(error_code=42, error_message="x")
    answer = DeleteAclsResponse(filter_results=[refused])
    with (
        answering(delete=answer) as cluster,
        pytest.raises(InvalidRequest, match="x"),
    ):
        delete_acls(cluster, [AclFilter()])
