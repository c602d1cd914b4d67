"""Jobs with certificates that are not good: one sentence with host, option, remedy."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.pipeline.commands.export import command as export
from odradek.pipeline.commands.load import command as load
from odradek.pipeline.commands.sink_once import command as sink_once
from tests.authority import Authority
from tests.broker_process import BrokerProcess, running_broker
from tests.pipeline.test_secure_cluster import job_file

Captured = pytest.CaptureFixture[str]
OWN = "ssl.certificate.location has to name"
TRUSTED_CA = "its certificate was issued by nobody whom we trust: name its CA with"
CASES = {
    "expired": f"refuses our certificate, which has expired: {OWN} a new one",
    "foreign": f": {OWN} one that is valid today, and issued by whom the broker trusts",
    "wrong CA": f"{TRUSTED_CA} ssl.ca.location",
    "none": "set ssl.certificate.location and ssl.key.location",
}


class Wanting(NamedTuple):
    """A broker that wants certificates; ``files`` are options of clients by case."""

    broker: BrokerProcess
    files: dict[str, Path]


@pytest.fixture(scope="module")
def wanting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wanting]:
    folder = tmp_path_factory.mktemp("certificates")
    ca, other = Authority(folder), Authority(folder, "other")
    server = ca.issue("server", "IP:127.0.0.1")
    own = {
        "expired": ca.issue("old", to_date="20210101000000Z"),
        "foreign": other.issue("foreign"),
        "wrong CA": ca.issue("good"),
        "none": None,
    }
    options = [
        "listeners=SSL://127.0.0.1:0",
        f"ssl.certificate.file={server}",
        f"ssl.key.file={server}",
        f"ssl.ca.file={ca.certificate}",
        "ssl.client.auth=required",
    ]
    words = [word for option in options for word in ("-o", option)]
    with running_broker(folder / "data", *words) as broker:
        files = {}
        for case, certificate in own.items():
            files[case] = folder / f"{case}.properties"
            trusted = (other if case == "wrong CA" else ca).certificate
            lines = [f"bootstrap.servers={broker.address}", "security.protocol=SSL"]
            lines += [f"ssl.ca.location={trusted}"]
            lines += [f"ssl.certificate.location={certificate}"] * bool(certificate)
            files[case].write_text("\n".join(lines))
        yield Wanting(broker, files)
        assert "Traceback" not in broker.log()


def exported(file: Path, folder: Path) -> int:
    given = ["orders", str(folder / "out"), "--command-config", str(file)]
    return export(given)


def sunk(file: Path, folder: Path) -> int:
    return sink_once([str(job_file(folder, "orders", command_config=str(file)))])


def loaded(file: Path, folder: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet

    (folder / "in").mkdir()
    pyarrow.parquet.write_table(pa.table({"id": [1]}), folder / "in" / "part.parquet")
    given = ["--table", str(folder / "in"), "--topic", "orders", "--job", "job"]
    return load([*given, "--command-config", str(file)])


@pytest.mark.usefixtures("shared_spark")
@pytest.mark.parametrize("act", [exported, sunk, loaded])
@pytest.mark.parametrize("case", CASES)
def test_a_job_says_what_is_wrong_with_a_certificate(
    case: str,
    act: Callable[[Path, Path], int],
    wanting: Wanting,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    assert act(wanting.files[case], tmp_path) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert CASES[case] in line
    assert wanting.broker.address in line
    assert not list(tmp_path.glob("out*")), "nothing is left behind"
