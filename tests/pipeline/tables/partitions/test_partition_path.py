"""Names of partitions, and what is read of them."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.tables.partitions.partition_path import (
    NAME_SIZE_MAX,
    NULL,
    files_in,
    folder_name,
    is_shown,
    is_too_long,
    partition_path,
    values_of,
)

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=60)
VALUES = st.dictionaries(TEXTS, st.none() | TEXTS, max_size=3)


@given(VALUES)
def test_values_are_read_back(values: dict[str, str | None]) -> None:
    path = partition_path(values.items())
    assert values_of(path) == values
    assert values_of(f"/lake/t/{path}/part-1.parquet") == values
    assert path.count("/") == max(len(values) - 1, 0)


def test_names_are_those_of_hive() -> None:
    assert partition_path([("kind", "a b/c"), ("day", "2026-01-31")]) == (
        "kind=a b%2Fc/day=2026-01-31"
    )
    assert folder_name("kind", None) == f"kind={NULL}"
    assert values_of(folder_name("kind", NULL)) == {"kind": NULL}
    assert folder_name("Straße", "größer") == "Straße=größer"


def test_a_name_does_not_end_with_a_dot() -> None:
    """In Azure it would be that of another value."""
    assert folder_name("kind", "a..") == "kind=a.%2E"
    assert values_of("kind=a.%2E/part-1.parquet") == {"kind": "a.."}


def test_a_folder_cannot_have_every_name(tmp_path: Path) -> None:
    longest = "x" * (NAME_SIZE_MAX - len("kind="))
    (tmp_path / folder_name("kind", longest)).mkdir()
    assert not is_too_long("kind", longest)
    assert is_too_long("kind", longest + "x")
    assert is_too_long("kind", "/" * 90)  # three bytes each


def test_files_of_a_table_are_not_those_that_are_staged(tmp_path: Path) -> None:
    shown = ["a.parquet", "kind=a/b.parquet", "kind=a/n=1/c.parquet"]
    for name in [*shown, "_stage/x/d.parquet", "_log/e.parquet", "kind=a/f.tmp"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert not is_shown("_stage/x/d.parquet")
    assert all(map(is_shown, shown))
    assert files_in(tmp_path) == sorted(str(tmp_path / name) for name in shown)
