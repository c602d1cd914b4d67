from pathlib import Path

import pytest

from tests import java_archive
from tests.java_archive import archive_options


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The options of each run, of a Java that is not there."""
    monkeypatch.setattr(java_archive, "_java_version", lambda: "17")
    monkeypatch.setattr(java_archive, "FOLDER", tmp_path)
    return []


def test_an_archive_is_made_once_for_what_it_is_of(trained: list[list[str]]) -> None:
    def train(options: list[str]) -> None:
        trained.append(options)
        Path(options[0].partition("=")[2]).write_text("classes")

    first = archive_options("spark", "jars of today", train)
    assert first == archive_options("spark", "jars of today", train)
    assert len(trained) == 1
    path = Path(first[0].removeprefix("-XX:SharedArchiveFile="))
    assert path.read_text() == "classes"
    other = archive_options("spark", "jars of tomorrow", train)
    assert len(trained) == 2
    assert other != first
    assert not path.exists()


def test_java_that_makes_none_goes_without(trained: list[list[str]]) -> None:
    assert archive_options("spark", "jars", trained.append) == []
    assert archive_options("spark", "jars", trained.append) == []
    assert len(trained) == 1


def test_the_first_run_goes_without_where_one_gains_nothing(
    trained: list[list[str]],
) -> None:
    assert archive_options("spark", "jars", trained.append, "first") == []
    assert archive_options("spark", "jars", trained.append, "first") == []
    assert trained == []
    archive_options("spark", "jars", trained.append, "second")
    archive_options("spark", "other jars", trained.append, "second")
    assert len(trained) == 1
