import logging
from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from tests.fakes.topics import topic_broker


@pytest.mark.parametrize("version", [0, 1])
async def test_no_mechanism_is_offered_and_the_log_says_to_whom(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, version: int
) -> None:
    async with topic_broker(tmp_path) as broker:
        request = SaslHandshakeRequest(mechanism="SCRAM-SHA-512")
        answer = await broker.ask(request, version)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.mechanisms == []
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    told = record.getMessage()
    assert "a client at 127.0.0.1:0 wants to log in by SASL (SCRAM-SHA-512)" in told
    assert "security.protocol=PLAINTEXT" in told


async def test_a_client_that_tries_again_has_one_line_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with topic_broker(tmp_path) as broker:
        for _ in range(61):
            await broker.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            broker.services.clock.advance(1000)  # type: ignore[attr-defined]
    assert len(caplog.records) == 2


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_password_is_refused_and_told_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, version: int
) -> None:
    async with topic_broker(tmp_path) as broker:
        request = SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")
        answer = await broker.ask(request, version)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.error_message == "There is no authentication on this listener"
    assert not caplog.records
