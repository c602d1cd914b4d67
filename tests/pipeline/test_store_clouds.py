"""Tables in the stores of Google and Microsoft: each format, as in Amazon's.

Google's is the scripted server, which knows its way to say that there must be no
object; Microsoft's is azurite, which npm has.
"""

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.objects.cloud import CloudStore
from odradek.objects.errors import StoreRefused
from odradek.objects.opening import read_settings
from odradek.pipeline.tables.compaction.compaction import compact
from odradek.pipeline.tables.places.place import open_place
from odradek.pipeline.tables.places.store_place import StorePlace
from odradek.pipeline.tables.table import FORMATS, open_table
from tests.fakes.object_server import far_object_server, google_environment
from tests.patience import PATIENCE_S
from tests.pipeline.conftest import skip_or_fail
from tests.pipeline.fake_job import JOB, run_batches
from tests.pipeline.stores import catalog

AZURITE = "azurite@3.37.0"
ACCOUNT = "devstoreaccount1"
# It is in Azurite's documentation, and nobody's secret.
KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq"
    "/K1SZFPTOtr/KBHBeksoGMGw=="
)


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with far_object_server() as server:
        for name, value in google_environment(server, tmp_path).items():
            monkeypatch.setenv(name, value)
        yield "gs://lake/jobs"


@pytest.fixture(scope="module")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of its account; installed once, beside other things that tests keep."""
    npm = shutil.which("npm")
    if npm is None:
        skip_or_fail("npm has azurite, and is not here")
    home = Path.home() / ".cache" / "odradek-tests" / AZURITE
    program = home / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        command = [str(npm), "install", "--silent", "--prefix", str(home), AZURITE]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            skip_or_fail(f"npm does not get azurite: {done.stderr[-300:]}")
    folder = tmp_path_factory.mktemp("azurite")
    command = [str(program), "--blobHost", "127.0.0.1", "--blobPort", "0"]
    command += ["--location", str(folder), "--skipApiVersionCheck"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            found = re.search(r"listens? (?:on|at) (http://127\.0\.0\.1:\d+)", line)
            if found:
                break
        else:
            raise AssertionError("azurite has ended")
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield f"{found[1]}/{ACCOUNT}"
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def microsoft(azurite: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(
        "AZURE_STORAGE_CONNECTION_STRING",
        f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={azurite}",
    )
    name = f"lake{time.time_ns()}"
    _make_container(azurite, name)
    return f"az://{name}/jobs"


def _make_container(account: str, name: str) -> None:
    """obstore makes none; a signed request does."""
    import base64
    import hashlib
    import hmac
    import urllib.request
    from email.utils import formatdate

    date = formatdate(usegmt=True)
    text = (
        "PUT\n\n\n\n\n\n\n\n\n\n\n\n"
        f"x-ms-date:{date}\nx-ms-version:2021-08-06\n"
        f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    )
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    request = urllib.request.Request(
        f"{account}/{name}?restype=container",
        method="PUT",
        headers={
            "x-ms-date": date,
            "x-ms-version": "2021-08-06",
            "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}",
        },
    )
    urllib.request.urlopen(request, timeout=PATIENCE_S).close()


def rows_at(kind: str, url: str, folder: Path) -> list[Any]:
    import pyarrow.parquet as pq

    place = open_place(url)
    assert isinstance(place, StorePlace)
    if kind == "delta":
        from deltalake import DeltaTable

        table = DeltaTable(url, storage_options=place.library_options)
        return sorted(table.to_pyarrow_table()["_offset"].to_pylist())
    opened = open_table(kind, url, JOB, catalog(kind, folder))
    files = opened.files()
    found = [row for f in files for row in pq.read_table(opened.open(f))["_offset"]]
    opened.close()
    return sorted(each.as_py() for each in found)


def flow_and_compact(kind: str, url: str, folder: Path) -> None:
    given = catalog(kind, folder)
    location = f"{url}/{kind}"
    run_batches(lambda: (open_table(kind, location, JOB, given), None), range(3))
    assert rows_at(kind, location, folder) == list(range(30))
    if kind != "parquet":
        done = compact(location, catalog=given)
        assert (done.files_before, done.files_after) == (6, 1)
        run_batches(lambda: (open_table(kind, location, JOB, given), None), range(3, 4))
        assert rows_at(kind, location, folder) == list(range(40))


@pytest.mark.parametrize("kind", FORMATS)
def test_google(kind: str, google: str, tmp_path: Path) -> None:
    flow_and_compact(kind, google, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kind", FORMATS)
def test_microsoft(kind: str, microsoft: str, tmp_path: Path) -> None:
    flow_and_compact(kind, microsoft, tmp_path)


@pytest.mark.long
def test_microsoft_with_a_wrong_key(
    microsoft: str, azurite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "AZURE_STORAGE_CONNECTION_STRING",
        f"AccountName={ACCOUNT};AccountKey=c2VjcmV0;BlobEndpoint={azurite}",
    )
    store = CloudStore(read_settings(microsoft, {}, os.environ))
    with pytest.raises(StoreRefused, match="AZURE_STORAGE_KEY"):
        store.put("jobs/a", b"1")
