from dataclasses import replace
from pathlib import Path

from odradek.broker.config.options.security.per_listener import SecurityOptions
from odradek.broker.security.certificates.look import look_at, settings_of
from tests.broker.security.certificates.copies import Copies
from tests.broker.security.certificates.options import tls_options
from tests.certificates import server


def test_new_files_look_otherwise_and_untouched_ones_do_not(tmp_path: Path) -> None:
    copies = Copies(tmp_path, server())
    before = look_at(copies.options)
    assert look_at(copies.options) == before
    copies.put(server())
    after = look_at(copies.options)
    assert after != before
    copies.holder.key.unlink()
    assert look_at(copies.options) not in (before, after)


def test_what_a_link_leads_to_is_looked_at(tmp_path: Path) -> None:
    """As Kubernetes changes a secret: a link to a folder is moved."""
    copies = {}
    for name in "1", "2":
        (tmp_path / name).mkdir()
        copies[name] = Copies(tmp_path / name, server())
    link = tmp_path / "data"
    link.symlink_to("1")
    through = tls_options(
        server()._replace(certificate=link / "broker.pem", key=link / "broker.key")
    )
    before = look_at(through)
    (tmp_path / "new").symlink_to("2")
    (tmp_path / "new").rename(link)
    assert look_at(through) != before


def test_options_are_part_of_it() -> None:
    options = tls_options()
    changed = replace(options.config, ssl_key_password="x")
    other = SecurityOptions(changed, options.listener)
    assert look_at(other) != look_at(options)
    same = replace(options.config, message_max_bytes=7)
    assert settings_of(SecurityOptions(same, options.listener)) == settings_of(options)
