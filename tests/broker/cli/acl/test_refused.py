import pytest

from odradek.broker.cli.acl.refused import refuse_acl
from odradek.protocol.errors import InvalidRequest, SecurityDisabled


def test_who_has_no_authorizer_is_told_how_to_have_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert refuse_acl("acl list", SecurityDisabled("None.")) == 1
    said = capsys.readouterr().err
    assert "SECURITY_DISABLED: None. Start the broker with authorizer.class" in said
    assert refuse_acl("acl list", InvalidRequest("No."), "User:a") == 1
    assert capsys.readouterr().err == (
        "odradek acl list: User:a: INVALID_REQUEST: No.\n"
    )
