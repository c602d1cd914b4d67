from odradek.broker.config.options.broker_config import ALIASES, OPTIONS
from odradek.broker.config.options.foreign import (
    is_meaningless,
    is_refusable,
    meaning_of,
)
from odradek.broker.config.options.foreign_table import foreign_table
from odradek.broker.config.options.option import Kind


def test_an_option_is_ours_or_foreign_but_not_both() -> None:
    assert not foreign_table().keys() & (OPTIONS.keys() | ALIASES.keys())


def test_types_and_defaults_are_read() -> None:
    table = foreign_table()
    assert table["num.io.threads"].kind is Kind.INT
    assert table["num.io.threads"].default == "8"
    assert table["num.io.threads"].is_dynamic
    assert not table["controlled.shutdown.enable"].is_dynamic
    assert table["config.providers"].default == ""
    assert table["principal.builder.class"].default is None
    assert table["sasl.oauthbearer.client.credentials.client.secret"].is_sensitive


def test_every_default_is_a_value_of_its_type() -> None:
    for known in foreign_table().values():
        if known.default is not None:
            known.parse(known.default)


def test_everybody_is_told_why() -> None:
    for name in foreign_table():
        assert is_meaningless(name) or is_refusable(name)
        if name == "config.providers":  # the one that does something
            continue
        assert meaning_of(name).startswith(("Means nothing here", "Refused is")), name
    assert "remote storage" in meaning_of("remote.log.storage.system.enable")
    # A few have no reason of their own.
    bare = [
        name for name in foreign_table() if meaning_of(name) == "Means nothing here."
    ]
    assert len(bare) < 12, bare
