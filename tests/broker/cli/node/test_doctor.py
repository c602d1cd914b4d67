import json

import pytest

from odradek.broker.cli.main import main
from tests.broker.cli.conftest import Shell


def test_all_is_well(shell: Shell) -> None:
    *lines, verdict = shell.run("doctor")
    assert verdict == "all is well"
    assert all(line.startswith("ok    ") for line in lines)
    found = shell.run_json("doctor")
    assert all(each["ok"] and each["advice"] is None for each in found)
    assert set(found[0]) == {"check", "target", "ok", "detail", "advice"}


def test_what_is_wrong_and_what_helps(capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--bootstrap-server", "no-such-host.invalid:9092")
    assert main(["doctor", *where]) == 1
    failure, advice, verdict = capsys.readouterr().out.splitlines()
    assert failure.startswith("FAIL  name        no-such-host.invalid:9092: ")
    assert advice.startswith("      Check the spelling")
    assert verdict == "1 problem"
    assert main(["doctor", *where, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["check"], found["ok"]) == ("name", False)
