import pickle
from pathlib import Path

from odradek.client.security.settings import (
    OAuth,
    Pem,
    Sasl,
    Secret,
    Security,
    Tls,
)

MARKER = "marker-secret"


def test_nobody_prints_a_secret_by_mistake() -> None:
    secret = Secret(MARKER)
    tls = Tls(key=Pem(secret), key_password=secret)
    oauth = OAuth(client_secret=secret)
    security = Security(tls, Sasl("PLAIN", "alice", secret, oauth=oauth))
    shown = [repr(security), str(security), f"{security}", f"{secret:>20}", str(secret)]
    assert not any(MARKER in text for text in shown)
    assert "alice" in repr(security)
    assert secret.value == MARKER


def test_tasks_elsewhere_get_all_of_it() -> None:
    security = Security(sasl=Sasl("PLAIN", "alice", Secret(MARKER)), origin="f")
    assert pickle.loads(pickle.dumps(security)) == security


def test_protocols() -> None:
    tls, sasl = Tls(), Sasl("PLAIN")
    found = [Security(), Security(tls), Security(None, sasl), Security(tls, sasl)]
    assert [each.protocol for each in found] == [
        "PLAINTEXT",
        "SSL",
        "SASL_PLAINTEXT",
        "SASL_SSL",
    ]


def test_a_file_is_read_again_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.pem"
    path.write_text("one")
    pem = Pem.of_file(str(path))
    path.write_text("two")
    assert pem.read() == "two"
    path.unlink()
    assert pem.read() == "one"
    assert not Pem()
