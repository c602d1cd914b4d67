import pytest

from odradek.broker.cli.config.resource import KINDS, resource_arguments, resource_of
from odradek.client.configs import ConfigResource, ConfigResourceType
from odradek.terminal.parser import Parser


def parsed(*given: str) -> ConfigResource:
    parser = Parser("config", "")
    resource_arguments(parser)
    return resource_of(parser, parser.parse(given))


def test_every_kind_is_one_of_the_protocol() -> None:
    for kind, name in KINDS.items():
        assert parsed(kind, "1") == (ConfigResourceType[name], "1")
    assert parsed("broker") == (ConfigResourceType.BROKER, "")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["broker", "one"], "'one' is not the number of a broker"),
        (["broker", "a.b=4"], "like 1; options are changed by --set a.b=4"),
        (["topic"], "say which topic"),
        (["topics", "t"], "invalid choice"),
    ],
)
def test_what_is_none(
    given: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parsed(*given)
    assert complaint in capsys.readouterr().err
