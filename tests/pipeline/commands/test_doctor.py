import json

import pytest

from odradek.pipeline.commands.doctor import command
from tests.broker_process import BrokerProcess

Captured = pytest.CaptureFixture[str]


@pytest.mark.usefixtures("shared_spark")
def test_all_is_well(broker_process: BrokerProcess, capsys: Captured) -> None:
    assert command(["--bootstrap-server", broker_process.address]) == 0
    *lines, verdict = capsys.readouterr().out.splitlines()
    assert verdict == "all is well"
    assert any(line.startswith("ok    worker: broker") for line in lines)


def test_what_is_wrong(capsys: Captured) -> None:
    nobody = ["--bootstrap-server", "no-such-host.invalid:1", "--no-spark"]
    assert command([*nobody, "--json"]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (failure,) = (each for each in found if not each["ok"])
    assert failure["check"] == "broker: name"
    assert failure["advice"].startswith("Check the spelling")
    assert command(nobody) == 1
    shown = capsys.readouterr().out
    assert "\nFAIL  broker: name" in shown
    assert shown.endswith("1 problem\n")


@pytest.mark.parametrize("given", [["--bootstrap-server", "a:b"], ["--conf", "x"]])
def test_mistakes(given: list[str], capsys: Captured) -> None:
    assert command(given) == 2
    assert capsys.readouterr().err.startswith("odradek pipeline doctor: ")
