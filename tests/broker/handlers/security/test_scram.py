from pathlib import Path

import pytest

from odradek.broker.handlers.security.scram import (
    refuse_alter_user_scram_credentials,
    refuse_describe_user_scram_credentials,
)
from odradek.protocol.errors import (
    ClusterAuthorizationFailed,
    ErrorCode,
    KafkaStorageError,
)
from odradek.protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)
from tests.fakes.topics import TopicBroker, topic_broker

Change = ScramCredentialDeletion | ScramCredentialUpsertion
SHA_256, SHA_512 = 1, 2


def put(
    name: str, mechanism: int = SHA_256, iterations: int = 4096, password: bytes = b"p"
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=password,
    )


def drop(name: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def changing(*changes: Change) -> AlterUserScramCredentialsRequest:
    upsertions = [
        each for each in changes if isinstance(each, ScramCredentialUpsertion)
    ]
    deletions = [each for each in changes if isinstance(each, ScramCredentialDeletion)]
    return AlterUserScramCredentialsRequest(upsertions=upsertions, deletions=deletions)


async def alter(broker: TopicBroker, *changes: Change) -> dict[str, int]:
    results = (await broker.ask(changing(*changes), 0)).results
    return {each.user: each.error_code for each in results}


async def shown(
    broker: TopicBroker, *names: str
) -> dict[str, tuple[int, list[tuple[int, int]]]]:
    users = [UserName(name=name) for name in names] if names else None
    answer = await broker.ask(DescribeUserScramCredentialsRequest(users=users), 0)
    return {
        each.user: (
            each.error_code,
            [(info.mechanism, info.iterations) for info in each.credential_infos],
        )
        for each in answer.results
    }


async def test_credentials_are_stored_shown_and_deleted(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        assert await shown(broker) == {}
        assert await alter(broker, put("alice"), put("bob", SHA_512, 8192)) == {
            "alice": 0,
            "bob": 0,
        }
        await alter(broker, put("alice", SHA_512, 16384))
        alice = (0, [(SHA_256, 4096), (SHA_512, 16384)])
        assert await shown(broker) == {"alice": alice, "bob": (0, [(SHA_512, 8192)])}
        assert await alter(broker, drop("alice")) == {"alice": 0}
        assert await alter(broker, drop("alice")) == {
            "alice": ErrorCode.RESOURCE_NOT_FOUND
        }
        assert await shown(broker, "alice", "zz") == {
            "alice": (0, [(SHA_512, 16384)]),
            "zz": (ErrorCode.RESOURCE_NOT_FOUND, []),
        }
        twice = await shown(broker, "bob", "bob")
        assert twice == {"bob": (ErrorCode.DUPLICATE_RESOURCE, [])}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (put(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (drop(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (put("u", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (put("u", iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (put("u", password=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (put("u", 3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (drop("u", 9), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
    ],
)
async def test_what_cannot_be_is_refused(
    tmp_path: Path, change: Change, code: int
) -> None:
    async with topic_broker(tmp_path) as broker:
        assert await alter(broker, change) == {change.name: code}
        assert await shown(broker) == {}


async def test_a_user_who_comes_twice_is_refused(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        refused = await alter(broker, put("u"), put("u", SHA_512), put("v"))
        assert refused == {"u": ErrorCode.DUPLICATE_RESOURCE, "v": 0}


def test_a_refused_request_has_the_error_at_every_user() -> None:
    answer = refuse_alter_user_scram_credentials(
        changing(put("u"), drop("v")), KafkaStorageError("no")
    )
    assert [(x.user, x.error_message) for x in answer.results] == [
        ("v", "no"),
        ("u", "no"),
    ]


def test_who_may_not_see_them_hears_it_once_for_each(tmp_path: Path) -> None:
    error = ClusterAuthorizationFailed()
    for users, count in (([UserName(name="a"), UserName(name="b")], 2), (None, 0)):
        asked = DescribeUserScramCredentialsRequest(users=users)
        refused = refuse_describe_user_scram_credentials(asked, error)
        assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        codes = [(each.user, each.error_code) for each in refused.results]
        assert codes == [("", refused.error_code)] * count
