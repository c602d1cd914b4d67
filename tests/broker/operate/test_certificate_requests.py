from pathlib import Path

import pytest

from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.operate.certificate_requests import reload_certificates
from tests.broker.security.certificates.test_renewal import kept


async def test_it_is_told_what_came_of_each_listener(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        (told,) = [item async for item in reload_certificates(it.renewal, {})]
        assert told["daysLeft"] in (799, 800)
        assert told == {
            "listener": "SSL",
            "outcome": "unchanged",
            "reason": None,
            "subject": "CN=localhost,O=Example",
            "names": ["127.0.0.1", "localhost"],
            "where": f"ssl.key.file={it.copies.holder.key}",
            "daysLeft": told["daysLeft"],
        }
        it.copies.spoil()
        (told,) = [item async for item in reload_certificates(it.renewal, {})]
        assert told["outcome"] == "failed"
        assert "there is no key" in told["reason"]
        with pytest.raises(AdminError, match="unknown: x"):
            [item async for item in reload_certificates(it.renewal, {"x": 1})]


async def test_without_tls_there_is_nothing_to_reload() -> None:
    with pytest.raises(AdminError, match="no listener of this broker has TLS"):
        [item async for item in reload_certificates(None, {})]
