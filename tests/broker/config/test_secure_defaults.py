from pathlib import Path

import pytest

from odradek.broker.config.options.error import OptionError
from odradek.broker.config.secure_defaults import FirstUser, first_user
from odradek.broker.config.settings import Flags
from odradek.broker.config.sources import is_to_be_secure, load

SECURE = {"ODRADEK_SECURE": "true"}


def test_nobody_gets_in_without_a_name(tmp_path: Path) -> None:
    flags = Flags(secure=True, data_dir=str(tmp_path), port=9393)
    loaded = load(None, {}, [], flags)
    config = loaded.config
    (listener,) = config.client_listeners
    assert str(listener) == "SASL_SSL://127.0.0.1:9393"
    assert listener.security_protocol == "SASL_SSL"
    assert config.ssl_certificate_file == str(tmp_path / "security" / "server.pem")
    assert config.authorizer_class_name
    assert config.super_users == {"User:admin"}
    assert is_to_be_secure({}, flags)
    assert first_user({}, secure=True) == FirstUser("admin", None)


def test_by_default_nothing_of_it_is_there() -> None:
    loaded = load(None, {"ODRADEK_SECURE": "false"})
    assert not is_to_be_secure({"ODRADEK_SECURE": "false"}, Flags())
    assert first_user({}, secure=False) is None
    assert loaded.config.ssl_certificate_file is None
    assert not loaded.config.authorizer_class_name


def test_what_somebody_has_set_stays(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "listeners=A://127.0.0.1:1,B://0.0.0.0:2\n"
        "listener.security.protocol.map=A:PLAINTEXT,B:SASL_SSL\n"
        f"log.dirs={tmp_path}/one,{tmp_path}/two\n"
        "sasl.enabled.mechanisms=PLAIN\nsuper.users=User:root\n"
    )
    config = load(file, SECURE).config
    assert [str(each) for each in config.client_listeners] == [
        "A://127.0.0.1:1",
        "B://0.0.0.0:2",
    ]
    assert config.sasl_enabled_mechanisms == ("PLAIN",)
    assert config.super_users == {"User:root"}
    assert config.ssl_certificate_file == f"{tmp_path}/one/security/server.pem"
    other = load(file, {**SECURE, "KAFKA_METADATA_LOG_DIR": f"{tmp_path}/three"}).config
    assert other.ssl_certificate_file == f"{tmp_path}/three/security/server.pem"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("allow.unauthenticated=true", "contradict each other"),
        ("listeners=PLAINTEXT://127.0.0.1:9092", "none of the listeners"),
        ("listeners=SSL://127.0.0.1:9092", "none of the listeners"),
        ("listeners=SASL_SSL://:9092,PLAINTEXT://:9093", "there is no authentication"),
        ("authorizer.class.name=|super.users=", "authorizer.class.name is empty"),
        ("ssl.keystore.location=x", "ssl.keystore.location names one: leave one"),
        ("ssl.certificate.file=x", "ssl.certificate.file names one: leave one"),
    ],
)
def test_what_would_leave_it_open_is_refused(option: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        load(None, SECURE, option.split("|"))


def test_the_environment_names_the_first_user() -> None:
    given = {"ODRADEK_ADMIN_USER": "root", "ODRADEK_ADMIN_PASSWORD_FILE": "/run/p"}
    assert first_user(given, secure=False) == FirstUser("root", "/run/p")
    assert first_user(given, secure=True) == FirstUser("root", "/run/p")
    assert load(None, {**SECURE, **given}).config.super_users == {"User:root"}
    only_file = {"ODRADEK_ADMIN_PASSWORD_FILE": "/run/p"}
    assert first_user(only_file, secure=True) == FirstUser("admin", "/run/p")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"ODRADEK_SECURE": "perhaps"}, "'perhaps' is neither true nor false"),
        ({"ODRADEK_ADMIN_USER": "root"}, "ODRADEK_ADMIN_PASSWORD_FILE has to name"),
        ({"ODRADEK_ADMIN_PASSWORD_FILE": "p"}, "ODRADEK_ADMIN_USER has to name"),
        ({**SECURE, "ODRADEK_ADMIN_USER": "a;b"}, "'a;b' is no name of a user"),
        ({**SECURE, "ODRADEK_ADMIN_USER": "a\nb"}, "is no name of a user"),
    ],
)
def test_a_variable_that_cannot_be_is_told(
    environment: dict[str, str], said: str
) -> None:
    with pytest.raises(OptionError, match=said) as refused:
        first_user(environment, secure=is_to_be_secure(environment, Flags()))
    assert "\n" not in str(refused.value)
