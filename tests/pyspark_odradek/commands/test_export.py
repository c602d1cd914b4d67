"""``odradek pipeline export``: arguments, and what it says before Spark is there."""

from pathlib import Path

import pytest

from pyspark_odradek.commands import export


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["orders"], "required: PATH"),
        (["orders:x", "rows"], "write it like orders or orders:0,2"),
        (["orders", "rows", "--columns", "ofset"], "records have no ofset"),
        (["orders", "rows", "--tabel-format", "delta"], "did you mean --table-format?"),
        (["orders", "rows", "--value-format", "xml"], "invalid choice"),
    ],
)
def test_mistakes(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        export.command(given)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_what_is_wrong_is_said_without_spark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away = ["--bootstrap-server", "127.0.0.1:1"]
    assert export.command(["orders", str(tmp_path / "rows"), *away]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err
    assert export.command(["orders", "s3a://b/rows", *away]) == 1
    assert "paths of a file system" in capsys.readouterr().err
    assert export.command(["orders", "rows", "--conf", "x"]) == 2
    assert "write it like" in capsys.readouterr().err
