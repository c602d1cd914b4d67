from pathlib import Path

import pytest

from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import ErrorCode
from tests.fakes.login import login_broker

USERS = 'x.PlainLoginModule required username="me" user_bob="it\'s \\"1\\"";'


async def test_the_users_of_an_option_are_those_of_plain(tmp_path: Path) -> None:
    async with login_broker(tmp_path, sasl_jaas_config=USERS) as broker:
        answer = await broker.connect().log_in("bob", 'it\'s "1"')
        assert answer.error_code == 0
        answer = await broker.connect().log_in("alice", "secret")
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        answer = await broker.connect().log_in("alice", "secret", "SCRAM-SHA-256")
        assert answer.error_code == 0


async def test_a_mechanism_has_an_option_of_its_own(tmp_path: Path) -> None:
    of_listeners = {"listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS}
    async with login_broker(tmp_path, of_listeners=of_listeners) as broker:
        answer = await broker.connect().log_in("bob", 'it\'s "1"')
        assert answer.error_code == 0


async def test_the_users_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# who\nbob:a:b\n")
    file.chmod(0o600)
    async with login_broker(tmp_path, plain_users_file=str(file)) as broker:
        assert (await broker.connect().log_in("bob", "a:b")).error_code == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("marker", "behind marker stands one of"),
        ('x.ScramLoginModule required a="marker";', "it names one PlainLoginModule"),
    ],
)
async def test_what_cannot_be_read_stops_the_start(
    tmp_path: Path, text: str, complaint: str
) -> None:
    name = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
    with pytest.raises(StartError, match=complaint):
        async with login_broker(tmp_path, of_listeners={name: text}):
            pass
