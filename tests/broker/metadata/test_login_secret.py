from pathlib import Path

from odradek.broker.metadata.catalog.catalog import Catalog, Change
from odradek.broker.metadata.login_secret import login_secret


async def test_a_secret_is_made_once(tmp_path: Path) -> None:
    found = []
    for directory in ("one", "one", "two"):
        (tmp_path / directory).mkdir(exist_ok=True)
        catalog = Catalog.open(tmp_path / directory)
        found.append(await login_secret(catalog))
        await catalog.close()
    assert found[0] == found[1] != found[2]
    assert {len(each) for each in found} == {32}


async def test_it_is_made_in_the_catalogues_thread(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    await catalog.change(lambda: Change(lambda _: None, lambda store: store.topics()))
    secret = await login_secret(catalog)  # the file is no longer the loop's
    assert await login_secret(catalog) == secret
    await catalog.close()
