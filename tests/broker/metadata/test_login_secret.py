from pathlib import Path

from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.login_secret import login_secret


async def test_a_secret_is_made_once(tmp_path: Path) -> None:
    found = []
    for directory in ("one", "one", "two"):
        (tmp_path / directory).mkdir(exist_ok=True)
        catalog = Catalog.open(tmp_path / directory)
        found.append(login_secret(catalog.store))
        await catalog.close()
    assert found[0] == found[1] != found[2]
    assert {len(each) for each in found} == {32}
