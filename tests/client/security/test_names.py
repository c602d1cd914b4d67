import pickle

import pytest

from odradek.client.security.names import (
    IGNORED,
    REFUSED,
    USED,
    SecurityOptionError,
    check_names,
    is_of_security,
)


def test_what_is_known_and_what_is_of_others() -> None:
    check_names(USED)
    check_names(IGNORED)
    check_names(
        ("acks", "bootstrap.servers", "client.id", "security", "key.serializer")
    )
    assert is_of_security("ssl.anything")
    assert is_of_security("sasl.mechanisms")
    assert not is_of_security("acks")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ssl.ca.locatoin", "did you mean ssl.ca.location?"),
        ("securty.protocol", "did you mean security.protocol?"),
        ("sasl.user", "there is no such option"),
        ("security.protocoll", "did you mean security.protocol?"),
    ],
)
def test_a_typo_is_not_left_out(name: str, said: str) -> None:
    with pytest.raises(SecurityOptionError, match=name) as caught:
        check_names([name])
    assert said in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why(name: str) -> None:
    with pytest.raises(SecurityOptionError, match="leave it out"):
        check_names([name])
