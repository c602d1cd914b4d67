"""Names of staging folders, and which of them are left over."""

from pathlib import Path

import pytest

from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.places.place import LocalPlace
from odradek.pipeline.tables.staging import (
    batch_of,
    is_of_job,
    leftovers,
    remove_leftovers,
    staging_name,
)

ALIKE = ("orders-eu", "orders.eu", "orders_eu", "orders-eu ", "x" * 200, "x" * 201)


def old_name(slug: str, batch: int) -> str:
    """As versions without a digest named them."""
    return f"{slug}-{batch:010d}-{'0' * 12}"


def test_only_leftovers_of_the_committed_batch_are_removed() -> None:
    names = [staging_name("a.b", batch) for batch in (6, 7, 7, 8)]
    names += [staging_name("other", 7), "else", names[1] + "x"]
    commit = Commit("a.b", 7, (), staged=names[1])
    assert leftovers(names, "a.b", commit) == [names[2]]


def test_jobs_whose_names_are_alike_have_folders_of_their_own() -> None:
    names = {job: staging_name(job, 7) for job in ALIKE}
    for job, name in names.items():
        assert leftovers(names.values(), job, Commit(job, 7, ())) == [name]
        assert len(name) < 255
        assert batch_of(name) == 7


def test_folders_of_earlier_versions_are_nobodys() -> None:
    names = [old_name("orders_eu", 7), old_name("orders", 7)]
    for job in ALIKE:
        assert leftovers(names, job, Commit(job, 7, ())) == []
    assert [batch_of(name) for name in names] == [7, 7]


def test_job_named_like_a_folder() -> None:
    """A job may be called what the folder of another one is called."""
    name = staging_name("a", 7)
    assert leftovers([name], name, Commit(name, 7, ())) == []
    assert leftovers([staging_name(name, 7)], "a", Commit("a", 7, ())) == []


@pytest.mark.parametrize("is_in_table", [True, False])
def test_folder_with_a_file_of_the_table_stays(
    is_in_table: bool, tmp_path: Path
) -> None:
    place, paths = LocalPlace(tmp_path), []
    for _ in range(2):
        folder = tmp_path / "data" / staging_name("j", 7)
        folder.mkdir(parents=True)
        paths.append(folder / "x.parquet")
        paths[-1].touch()
    commit = Commit("j", 7, (), staged=paths[0].parent.name)
    named = [str(path) for path in paths[: 2 if is_in_table else 1]]
    remove_leftovers(place, "data", commit, lambda: named)
    assert [path.exists() for path in paths] == [True, is_in_table]


def test_table_is_not_asked_when_nothing_is_left_over(tmp_path: Path) -> None:
    def asked() -> list[str]:
        raise AssertionError("a table of a million files would be listed")

    place = LocalPlace(tmp_path)
    remove_leftovers(place, "data", Commit("j", 7, ()), asked)
    name = staging_name("j", 7)
    place.staging("data", name)
    remove_leftovers(place, "data", Commit("j", 7, (), staged=name), asked)
    assert (tmp_path / "data" / name).exists()


def test_whose_file_it_is() -> None:
    path = f"/t/data/{staging_name('orders.eu', 3)}/x.parquet"
    assert [is_of_job(path, job) for job in ("orders.eu", "orders-eu")] == [True, False]
    assert not is_of_job(f"/t/data/{old_name('orders', 3)}/x.parquet", "orders")
