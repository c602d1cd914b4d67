import pytest

from odradek.broker.cli.snippets.listening import bootstrap, listener_options


@pytest.mark.parametrize(
    ("hosts", "listened", "told"),
    [
        ([], "127.0.0.1:9", None),
        (["localhost"], "127.0.0.1:9", "localhost:9"),
        (["127.0.0.2"], "127.0.0.1:9", "127.0.0.2:9"),
        (["kafka.example.com", "localhost"], "0.0.0.0:9", "kafka.example.com:9"),
        (["localhost", "192.0.2.1"], "0.0.0.0:9", "localhost:9"),
        (["2001:db8::1"], "0.0.0.0:9", "[2001:db8::1]:9"),
    ],
)
def test_who_comes_from_elsewhere_is_listened_to(
    hosts: list[str], listened: str, told: str | None
) -> None:
    options = dict(listener_options("SSL", hosts, 9))
    assert options["listeners"] == f"SSL://{listened}"
    assert options.get("advertised.listeners") == (told and f"SSL://{told}")
    assert bootstrap(hosts, 9) == (told or "127.0.0.1:9")
