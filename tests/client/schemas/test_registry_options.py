from pathlib import Path

import pytest

from odradek.client.schemas.registry_options import (
    NOBODY,
    RegistryLogin,
    login_of_file,
    read_registry_login,
)
from odradek.client.security.client_file import ClientFileError
from odradek.client.security.names import SecurityOptionError
from odradek.client.security.settings import Secret, Tls
from tests.certificates import authority

URL = "https://registry:8081"


@pytest.mark.parametrize(
    ("options", "login"),
    [
        ({"client.id": "x"}, NOBODY),
        (
            {"basic.auth.user.info": "alice:open sesame"},
            RegistryLogin(Secret("alice:open sesame")),
        ),
        (
            {"schema.registry.basic.auth.user.info": "alice:p"},
            RegistryLogin(Secret("alice:p")),
        ),
        ({"bearer.auth.token": "abc"}, RegistryLogin(token=Secret("abc"))),
        (
            {
                "basic.auth.credentials.source": "sasl_inherit",
                "sasl.username": "alice",
                "sasl.password": "p",
                "sasl.mechanism": "SCRAM-SHA-256",
            },
            RegistryLogin(Secret("alice:p")),
        ),
        (
            {"basic.auth.credentials.source": "URL", "basic.auth.user.info": "a:b"},
            NOBODY,
        ),
    ],
)
def test_who_a_client_is(options: dict[str, str], login: RegistryLogin) -> None:
    found = read_registry_login(options)
    assert found == login
    assert "open sesame" not in repr(found)


def test_whom_to_trust() -> None:
    path = str(authority().certificate)
    found = read_registry_login({"schema.registry.ssl.ca.location": path})
    assert isinstance(found.tls, Tls)
    assert found.tls.trusted.path == path


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"basic.auth.user.info": "alice"}, "is like name:password"),
        ({"basic.auth.credentials.source": "FILE"}, "is USER_INFO, URL or SASL_INH"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "only STATIC_TOKEN"),
        ({"bearer.auth.token": "a\nb"}, "no token in one line"),
        (
            {"bearer.auth.token": "a", "basic.auth.user.info": "a:b"},
            "is set, and basic",
        ),
        ({"schema.registry.basic.auth.userinfo": "a:b"}, "did you mean"),
        ({"schema.registry.ssl.ca.location": "/nowhere"}, "/nowhere: No such file"),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "is missing"),
    ],
)
def test_what_cannot_be(options: dict[str, str], reason: str) -> None:
    with pytest.raises(SecurityOptionError, match=reason) as caught:
        read_registry_login(options)
    assert "a:b" not in str(caught.value)


def test_a_login_is_for_the_registry_that_the_file_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER_OF_REGISTRY", "alice:p")
    path = tmp_path / "client.properties"
    text = "client.id=${env:NOBODY_HAS_IT}\nbasic.auth.user.info=${env:WHO}\n"
    path.write_text(text.replace("WHO", "USER_OF_REGISTRY"))
    alice = RegistryLogin(Secret("alice:p"))
    assert login_of_file(str(path), URL) == alice
    path.write_text(f"{path.read_text()}schema.registry.url={URL}/\n")
    assert login_of_file(str(path), URL) == alice
    for other in "http://registry:8081", "https://registry", "https://other:8081":
        assert login_of_file(str(path), other) == NOBODY
    path.write_text(text)
    with pytest.raises(ClientFileError, match=r"client\.properties: .*variable WHO"):
        login_of_file(str(path), URL)
