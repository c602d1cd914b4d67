import json
import sys

import pytest

import odradek
from odradek.broker.cli.node.version import command


def test_version_says_what_a_bug_report_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "odradek",
        "python",
        "loop",
        "records",
        "syncs",
    ]
    assert sys.version.split()[0] in lines[1]
    assert lines[0].split()[1] == odradek.__version__.split()[0]
    assert command(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [f"{name:<7} {value}" for name, value in found.items()] == lines


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("odradek.protocol.speedups", "records"),
        ("odradek.broker.durability.sync_thread", "syncs"),
    ],
)
def test_without_an_extension_it_says_so(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    name: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, "platform", "linux")
    command([])
    lines = capsys.readouterr().out.splitlines()
    assert f"{name:<7} plain Python (the C extension was not built)" in lines


def test_elsewhere_the_thread_that_syncs_is_not_missed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "odradek.broker.durability.sync_thread", None)
    monkeypatch.setattr(sys, "platform", "darwin")
    command([])
    lines = capsys.readouterr().out.splitlines()
    assert "syncs   plain Python (the C extension is for Linux)" in lines
