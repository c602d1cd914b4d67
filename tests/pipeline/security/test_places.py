from pathlib import Path

import pytest

from odradek.pipeline.security.places import here, is_task, not_here
from tests.pipeline.security.tasks import in_task


def test_on_the_driver_a_file_is_where_it_is_said_to_be(tmp_path: Path) -> None:
    assert not is_task()
    assert here(str(tmp_path / "nothing")) == str(tmp_path / "nothing")


def test_a_task_takes_what_spark_has_brought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_task(monkeypatch, tmp_path)
    assert is_task()
    (tmp_path / "key.pem").touch()
    assert here("/of/the/driver/key.pem") == str(tmp_path / "key.pem")
    assert here("/of/the/driver/other.pem") == "/of/the/driver/other.pem"
    mine = tmp_path / "folder" / "key.pem"
    mine.parent.mkdir()
    mine.touch()
    assert here(str(mine)) == str(mine)
    assert "spark.files (--files)" in not_here("it is gone")
