import json
from pathlib import Path

import pytest

from odradek.broker.cli.config.example import command, files
from odradek.broker.config.sources import load

ROOT = Path(__file__).parents[4]


def test_the_first_is_the_one_for_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert command([]) == 0
    assert capsys.readouterr().out == (
        (ROOT / "config" / "server.properties").read_text()
    )


@pytest.mark.parametrize("name", sorted(files().keys() - {"dashboard"}))
def test_each_is_a_file_that_serve_takes(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command([name]) == 0
    written = tmp_path / "written.properties"
    written.write_text(capsys.readouterr().out)
    load(written, {"KAFKA_ALLOW_UNAUTHENTICATED": "true"})


def test_the_dashboard_is_written_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["dashboard"]) == 0
    assert json.loads(capsys.readouterr().out)["title"]


def test_every_file_of_the_folder_can_be_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set(files()) == {path.stem for path in (ROOT / "config").iterdir()}
    with pytest.raises(SystemExit) as ended:
        command(["servre"])
    assert ended.value.code == 2
    assert "server" in capsys.readouterr().err
