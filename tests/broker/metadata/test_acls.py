import asyncio
import sqlite3
from pathlib import Path

from odradek.broker.metadata.acls import Acls
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.catalog.recovery import CATALOG
from odradek.protocol.acl_entries import AclFilter
from odradek.protocol.acls import Operation
from tests.fakes.access import entry

A, B = entry(Operation.READ, "a"), entry(Operation.WRITE, "b", prefixed=True)


async def test_entries_are_there_after_a_restart_each_once(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    acls = Acls(catalog)
    told: list[int] = []
    acls.watch(lambda: told.append(len(acls)))
    await acls.add([A, B, A])
    await acls.add([A])
    assert list(acls) == [A, B]
    assert told == [2], "what changes nothing is told to nobody"
    await catalog.close()
    catalog = Catalog.open(tmp_path)
    assert set(Acls(catalog)) == {A, B}
    await catalog.close()


async def test_what_matches_is_removed_and_said_for_each_filter(
    tmp_path: Path,
) -> None:
    catalog = Catalog.open(tmp_path)
    acls = Acls(catalog)
    await acls.add([A, B])
    everything = AclFilter()
    reads = AclFilter(operation=Operation.READ)
    assert await acls.remove([everything], at_most=1) is None
    assert len(acls) == 2
    assert await acls.remove([reads, everything], at_most=2) == [[A], [A, B]]
    assert not list(acls)
    assert await acls.remove([everything], at_most=0) == [[]]
    await catalog.close()


async def test_two_changes_at_once_are_one_after_the_other(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    acls = Acls(catalog)
    adding = acls.add([A])
    removing = acls.remove([AclFilter()], at_most=10)
    _, removed = await asyncio.gather(adding, removing)
    assert removed == [[A]]
    assert not list(acls)
    await catalog.close()


async def test_a_flipped_entry_is_noticed(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    await Acls(catalog).add([A])
    await catalog.close()
    with sqlite3.connect(tmp_path / CATALOG) as database:
        database.execute("DROP TRIGGER acls_updated")
        database.execute("UPDATE acls SET permission = 2")
    database.close()
    catalog = Catalog.open(tmp_path)  # its copy
    assert list(Acls(catalog)) == [A]
    await catalog.close()
