import pytest

from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.option import format_value
from odradek.broker.config.options.security.access import Principals, read_principals

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.mark.parametrize("name", ["", "acl", STANDARD])
def test_it_is_called_by_kafkas_name_or_by_ours(name: str) -> None:
    assert OPTIONS["authorizer.class.name"][1].parse(name) == name


def test_other_classes_are_refused_by_name() -> None:
    with pytest.raises(OptionError, match=r"com\.example\.Mine .* use acl"):
        OPTIONS["authorizer.class.name"][1].parse("com.example.Mine")


def test_super_users_are_split_at_semicolons() -> None:
    users = read_principals("User:CN=a,O=b; User:admin;")
    assert users == {"User:CN=a,O=b", "User:admin"}
    assert format_value(users) == "User:CN=a,O=b;User:admin"
    assert read_principals(format_value(users) or "") == users
    assert format_value(Principals()) == ""


@pytest.mark.parametrize("text", ["admin", "User:", "User:a;admin"])
def test_a_super_user_has_a_type_and_a_name(text: str) -> None:
    with pytest.raises(OptionError, match="is no principal"):
        OPTIONS["super.users"][1].parse(text)


def test_a_comma_between_super_users_is_told() -> None:
    for text in ("User:a,User:b", "User:a, User:b;User:c"):
        with pytest.raises(ValueError, match="between users stands ;"):
            read_principals(text)


def test_super_users_need_an_authorizer() -> None:
    with pytest.raises(OptionError, match=r"set authorizer\.class\.name=acl"):
        BrokerConfig(super_users=read_principals("User:a")).check()
