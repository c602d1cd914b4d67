"""Names of staging folders, and which of them are left over."""

from pathlib import Path

import pytest

from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.places.place import LocalPlace
from odradek.pipeline.tables.staging import (
    Leftovers,
    batch_of,
    is_of_job,
    leftovers,
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
    assert leftovers(names, [commit]) == [names[2]]


def test_jobs_whose_names_are_alike_have_folders_of_their_own() -> None:
    names = {job: staging_name(job, 7) for job in ALIKE}
    for job, name in names.items():
        assert leftovers(names.values(), [Commit(job, 7, ())]) == [name]
        assert len(name) < 255
        assert batch_of(name) == 7


def test_folders_of_earlier_versions_are_nobodys() -> None:
    names = [old_name("orders_eu", 7), old_name("orders", 7)]
    for job in ALIKE:
        assert leftovers(names, [Commit(job, 7, ())]) == []
    assert [batch_of(name) for name in names] == [7, 7]


def test_job_named_like_a_folder() -> None:
    """A job may be called what the folder of another one is called."""
    name = staging_name("a", 7)
    assert leftovers([name], [Commit(name, 7, ())]) == []
    assert leftovers([staging_name(name, 7)], [Commit("a", 7, ())]) == []


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
    Leftovers(place, "data").remove(commit, lambda: named)
    assert [path.exists() for path in paths] == [True, is_in_table]


def test_table_is_not_asked_when_nothing_is_left_over(tmp_path: Path) -> None:
    def asked() -> list[str]:
        raise AssertionError("a table of a million files would be listed")

    place = LocalPlace(tmp_path)
    left = Leftovers(place, "data")
    left.remove(Commit("j", 7, ()), asked)
    name = staging_name("j", 7)
    place.staging("data", name)
    left.remove(Commit("j", 7, (), staged=name), asked)
    assert (tmp_path / "data" / name).exists()


class ManyFolders(LocalPlace):
    """A place with folders of many batches, which counts how often they are listed."""

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(folder)
        self.names = [staging_name("j", batch) for batch in range(count)]
        self.listed = 0
        self.removed: list[str] = []

    def folders_in(self, folder: str) -> list[str]:
        self.listed += 1
        return self.names

    def remove_folder(self, *parts: str) -> None:
        self.removed.append(parts[-1])


def test_of_many_folders_a_list_is_asked_for_once_in_a_while(tmp_path: Path) -> None:
    """What another driver has left of any batch since goes then, too."""
    place = ManyFolders(tmp_path, 10_000)
    left = Leftovers(place, "data")
    for batch in range(10_000, 10_031):
        left.begin(batch)
        own, others = staging_name("j", batch), staging_name("j", batch)
        place.names += [own, others]
        left.remove(Commit("j", batch, (), staged=own), list)
    assert place.listed == 4
    assert len(place.removed) == 31


def test_batch_that_was_tried_twice_is_cleared_at_once(tmp_path: Path) -> None:
    place = ManyFolders(tmp_path, 10_000)
    left = Leftovers(place, "data")
    for batch, tries, listed in ((10_001, 1, 1), (10_002, 1, 1), (10_003, 2, 2)):
        for _ in range(tries):
            left.begin(batch)
            place.names.append(staging_name("j", batch))
        left.remove(Commit("j", batch, (), staged=place.names[-1]), list)
        assert place.listed == listed
    assert place.removed == [place.names[-2]]


def test_whose_file_it_is() -> None:
    path = f"/t/data/{staging_name('orders.eu', 3)}/x.parquet"
    assert [is_of_job(path, job) for job in ("orders.eu", "orders-eu")] == [True, False]
    assert not is_of_job(f"/t/data/{old_name('orders', 3)}/x.parquet", "orders")
