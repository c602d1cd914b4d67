import json

import pytest

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.image import OptionResource
from odradek.broker.quorum.image.replay import Replay
from odradek.broker.quorum.metadata_directory import read_metadata_log
from odradek.protocol.metadata_records import (
    ClientQuotaRecord,
    ConfigRecord,
    ProducerIdsRecord,
    QuotaEntityData,
    RemoveAccessControlEntryRecord,
)
from odradek.protocol.schema import Message
from odradek.storage.files.files import OsFiles
from tests.adopted import METADATA_GOLDEN
from tests.broker.quorum.image.states import state


def option(name: str, value: str | None) -> Message:
    return ConfigRecord(resource_type=4, resource_name="1", name=name, value=value)


def test_options_are_set_and_taken_away() -> None:
    image = state(option("a", "1"), option("b", "2"), option("a", None))
    assert image.options == {OptionResource(4, "1"): {"b": "2"}}
    assert not state(option("a", "1"), option("a", None)).options
    assert not state(option("a", None)).options


def quota(value: float, *kinds: str, remove: bool = False) -> Message:
    parts = [QuotaEntityData(entity_type=kind, entity_name="x") for kind in kinds]
    return ClientQuotaRecord(entity=parts, key="k", value=value, remove=remove)


def test_an_entity_is_the_same_in_any_order_of_its_parts() -> None:
    image = state(quota(1, "user", "client-id"), quota(2, "client-id", "user"))
    assert image.quotas == {(("client-id", "x"), ("user", "x")): {"k": 2.0}}
    assert not state(quota(1, "user"), quota(0, "user", remove=True)).quotas


def test_producer_ids_are_given_from_there_on() -> None:
    assert state(ProducerIdsRecord(next_producer_id=1000)).next_producer_id == 1000


def test_an_entry_that_is_not_there_cannot_go() -> None:
    with pytest.raises(MetadataLogError, match="no access control entry e"):
        state(RemoveAccessControlEntryRecord(id=b"x" * 16))


def test_users_rights_and_tokens_are_those_that_apache_kafka_showed() -> None:
    folder = METADATA_GOLDEN / "logins"
    expected = json.loads((folder / "expected.json").read_text())
    directory = folder / "log-dir" / "__cluster_metadata-0"
    image = read_metadata_log(OsFiles(), directory, [], Replay).publish()
    names = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
    users: dict[str, list[str]] = {}
    for user, mechanism in sorted(image.credentials):
        users.setdefault(user, []).append(names[mechanism])
    assert users == expected["users"]
    assert sorted(map(list, image.acls.values())) == expected["acls"]
    tokens = {each["token_id"]: each for each in expected["tokens"]}
    assert image.tokens.keys() == tokens.keys()
    for token_id, token in image.tokens.items():
        found = tokens[token_id]
        assert (token.owner, token.requester, list(token.renewers)) == (
            *(found["owner"], found["requester"]),
            found["renewers"],
        )
        assert token.expiration_timestamp_ms == found["expiry_ms"]
