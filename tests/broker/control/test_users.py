"""Users, without a client."""

from pathlib import Path

from odradek.broker.control.users import user_requests
from odradek.broker.metadata.scram_credentials import ScramCredential
from odradek.protocol.scram import Mechanism, salted
from tests.broker.control.asked import answer, refused
from tests.broker.control.served import controlled


async def test_users_come_change_and_go(tmp_path: Path) -> None:
    async with controlled(tmp_path) as server:
        requests = user_requests(server.services)
        credentials = server.services.credentials

        def has_password(user: str, password: str) -> bool:
            found = credentials.of(user)
            assert set(found) == set(Mechanism)
            for mechanism, kept in found.items():
                given = kept.iterations, kept.salt
                hashed = salted(password.encode(), kept.salt, 4096, mechanism.algorithm)
                if ScramCredential.of(mechanism, *given, hashed) != kept:
                    return False
            return True

        users = {"alice": "secret", "bob": "pässword"}
        items = await answer(requests, "users.set", users=users)
        assert items == [{"user": "alice"}, {"user": "bob"}]
        assert has_password("alice", "secret")
        assert has_password("bob", "pässword")
        await answer(requests, "users.set", users={"alice": "new", "bob": None})
        assert has_password("alice", "new")
        assert not has_password("alice", "secret")
        assert credentials.users() == ["alice"]


async def test_what_makes_no_sense_changes_nothing(tmp_path: Path) -> None:
    async with controlled(tmp_path) as server:
        requests = user_requests(server.services)
        for users, why in (
            ({"a": "b", "": "x"}, "a user has no name"),
            ({"a": "b", "bob": ""}, "the password of 'bob' is a text"),
            ({"a": "b", "bob": 7}, "the password of 'bob' is a text"),
            (["a"], "it is an object"),
        ):
            assert why in await refused(requests, "users.set", users=users)
        assert "users is missing" in await refused(requests, "users.set")
        assert server.services.credentials.users() == []
