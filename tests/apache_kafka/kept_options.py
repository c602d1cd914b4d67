"""What a broker keeps beside topics: quotas, users, options of groups and brokers.

The same requests to Apache Kafka and to odradek, so that the answers can be compared.
"""

from typing import Any, TypeVar

from odradek.client.connection import Connection
from odradek.protocol.messages.client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredQuotaEntry,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    OpData,
)
from odradek.protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from odradek.protocol.schema import Response
from tests.patience import PATIENCE_S

BROKERS, GROUPS = 4, 32
QUOTAS: list[tuple[dict[str, str | None], dict[str, float]]] = [
    ({"client-id": "slow"}, {"producer_byte_rate": 1e6, "consumer_byte_rate": 2e6}),
    ({"client-id": None, "user": "ann"}, {"request_percentage": 150.0}),
    ({"client-id": "gone"}, {"request_percentage": 10.0}),
]
OPTIONS = [
    (BROKERS, "", "log.retention.ms", "86400000"),
    (BROKERS, "", "background.threads", "8"),
    (GROUPS, "readers", "consumer.session.timeout.ms", "50000"),
]

_Answer = TypeVar("_Answer", bound=Response)


def _ask(address: str, request: Any, answer: type[_Answer], version: int) -> _Answer:
    host, _, port = address.partition(":")
    with Connection(host, int(port), timeout_s=PATIENCE_S) as connection:
        return connection.request(request, answer, version)


def set_options(address: str) -> None:
    """Set all of it, and take one quota away again."""
    for is_removed in (False, True):
        entries = [
            AlteredQuotaEntry(
                entity=[
                    EntityData(entity_type=kind, entity_name=name)
                    for kind, name in names.items()
                ],
                ops=[
                    OpData(key=key, value=value, remove=is_removed)
                    for key, value in quotas.items()
                ],
            )
            for names, quotas in (QUOTAS[-1:] if is_removed else QUOTAS)
        ]
        request = AlterClientQuotasRequest(entries=entries)
        altered = _ask(address, request, AlterClientQuotasResponse, 1)
        assert not any(each.error_code for each in altered.entries), altered
    user = ScramCredentialUpsertion(
        name="ann", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"hash"
    )
    stored = _ask(
        address,
        AlterUserScramCredentialsRequest(upsertions=[user]),
        AlterUserScramCredentialsResponse,
        0,
    )
    assert not any(each.error_code for each in stored.results), stored
    resources = [
        AlterConfigsResource(
            resource_type=kind,
            resource_name=resource,
            configs=[AlterableConfig(name=name, config_operation=0, value=value)],
        )
        for kind, resource, name, value in OPTIONS
    ]
    for each in resources:
        answer = _ask(
            address,
            IncrementalAlterConfigsRequest(resources=[each]),
            IncrementalAlterConfigsResponse,
            1,
        )
        assert not any(each.error_code for each in answer.responses), answer


def described_options(address: str) -> dict[str, object]:
    """What a broker says of it."""
    quotas = _ask(
        address, DescribeClientQuotasRequest(), DescribeClientQuotasResponse, 1
    )
    users = _ask(
        address,
        DescribeUserScramCredentialsRequest(users=None),
        DescribeUserScramCredentialsResponse,
        0,
    )
    wanted = [
        DescribeConfigsResource(
            resource_type=GROUPS, resource_name="readers", configuration_keys=None
        )
    ]
    group = _ask(
        address, DescribeConfigsRequest(resources=wanted), DescribeConfigsResponse, 4
    )
    (result,) = group.results
    options = {
        each.name: each.value
        for each in result.configs
        if each.name == "consumer.session.timeout.ms"
    }
    return {
        "quotas": sorted(
            (
                sorted((x.entity_type, str(x.entity_name)) for x in entry.entity),
                sorted((x.key, x.value) for x in entry.values),
            )
            for entry in quotas.entries or ()
        ),
        "users": [
            (user.user, info.mechanism, info.iterations)
            for user in users.results
            for info in user.credential_infos
        ],
        "group": options,
    }
