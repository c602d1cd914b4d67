"""``odradek cert reload`` and SIGHUP, on a broker as its users start it."""

import json
import os
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.broker.cli.main import main
from tests.broker.security.certificates.copies import Copies
from tests.broker_process import BrokerProcess, running_broker
from tests.certificates import Holder, authority, server
from tests.fakes.broker import until


class Served(NamedTuple):
    broker: BrokerProcess
    copies: Copies

    def shown(self) -> str:
        """The certificate that a client is shown."""
        return ssl.get_server_certificate(("127.0.0.1", self.broker.port))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    copies = Copies(tmp_path, server())
    options = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.certificate.file": copies.holder.certificate,
        "ssl.key.file": copies.holder.key,
        "allow.unauthenticated": "true",
    }
    file = tmp_path / "server.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in options.items()))
    with running_broker(tmp_path / "data", "--config", str(file)) as broker:
        yield Served(broker, copies)
        assert "Traceback" not in broker.log()


def pem_of(holder: Holder) -> str:
    return holder.certificate.read_text()


def test_a_new_certificate_is_shown_and_a_bad_one_is_not(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["cert", "reload", "--data-dir", str(served.broker.data_dir)]
    assert served.shown() == pem_of(server())
    new = authority().issue("/CN=new", names=["IP:127.0.0.1"])
    served.copies.put(new)
    assert main(given) == 0
    assert "SSL: new: CN=new, for another 799 days" in capsys.readouterr().out
    assert served.shown() == pem_of(new)
    served.copies.spoil()
    assert main([*given, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["outcome"] == "failed"
    assert main(given) == 1
    assert "SSL: keeps what it has" in capsys.readouterr().out
    assert served.shown() == pem_of(new)


async def test_a_hangup_has_it_read_again(served: Served) -> None:
    new = authority().issue("/CN=new")
    served.copies.put(new)
    os.kill(served.broker.pid, signal.SIGHUP)
    await until(lambda: served.shown() == pem_of(new))


def test_without_a_broker_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cert", "reload", "--data-dir", str(tmp_path)]) == 1
    assert "no broker is running on" in capsys.readouterr().err
