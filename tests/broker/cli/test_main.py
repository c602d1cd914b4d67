import io
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.broker.cli import main as main_module
from odradek.broker.cli.completion import words
from odradek.broker.cli.main import BUILT_IN, find, main
from tests.processor import turns

ROOT = Path(__file__).parents[3]
NOBODY = ("--bootstrap-server", "127.0.0.1:1")


def test_the_overview_has_the_summary_of_each_command() -> None:
    for name, (_, summary) in BUILT_IN.items():
        command = find(name)
        assert command is not None
        assert (command.__doc__ or "").splitlines()[0] == summary


def test_nothing_said_shows_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in BUILT_IN:
        assert f"  {name} " in shown


@pytest.mark.parametrize(
    ("word", "complaint"),
    [("sevre", "did you mean serve?"), ("qqqq", "there are serve, health, version")],
)
def test_an_unknown_command_says_what_there_is(
    word: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"odradek {word}: there is no such command")
    assert complaint in line
    assert line.count("\n") == 1


def test_help_of_a_command_and_short_forms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "topic"]) == 0
    assert capsys.readouterr().out.startswith("usage: odradek topic ACTION")
    with pytest.raises(SystemExit) as ended:
        main(["help", "topic", "create"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: odradek topic create ")
    assert main(["help", "sevre"]) == 2
    assert "did you mean serve?" in capsys.readouterr().err
    assert main(["-V"]) == 0
    assert capsys.readouterr().out.startswith("odradek ")


def test_a_command_of_another_package_is_found_by_its_entry_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class EntryPoint:
        name = "load-table"

        def load(self) -> object:
            return len

    monkeypatch.setattr(main_module, "_entry_points", lambda: [EntryPoint()])
    assert find("load-table") is len
    assert main(["load-table", "a", "b"]) == 2  # its exit code: what it returned


ACTIONS = (
    *("topic", "config", "group", "txn", "user", "quota", "profile"),
    *("acl", "cert", "secure", "token", "mirror", "cluster"),
)
HELPS = [
    ["odradek", *command.split()]
    for command in [*words()[""], *(key for key in words() if " " in key)]
    if not command.startswith("pipeline") and command not in ACTIONS
]


@pytest.mark.parametrize("command", HELPS, ids=" ".join)
def test_every_help_has_examples_and_how_it_ends(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command[1:], "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    _, _, examples = shown.partition("\nexamples:\n")
    assert f"odradek {command[1]}" in examples


# A third of a second, eight times what it takes.
HELP_TURNS_MAX = 10_000_000


def test_help_takes_no_time() -> None:
    """CPU time of a process of its own, the best of three: others may be busy."""
    for command in ["group", "list"], ["topic", "create"], ["consume"], []:
        best_s = min(_cpu_of_help(command) for _ in range(3))
        assert turns(best_s) < HELP_TURNS_MAX, command


def _cpu_of_help(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = [sys.executable, "-m", "odradek", *command, "--help"]
    subprocess.run(arguments, check=True, capture_output=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def test_an_argument_that_is_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("password\n"))
    given = ["user", "set", "al\udcff", "--data-dir", str(tmp_path)]
    assert main(given) == 2
    assert capsys.readouterr().err == "odradek user: 'al\\udcff' is no text in UTF-8\n"


def test_every_command_is_on_the_page() -> None:
    page = (ROOT / "docs/commands.md").read_text()
    for name in BUILT_IN:
        assert f"{name}](" in page or f"odradek {name}" in page, name
    known = words()
    for name in *ACTIONS[:2], *ACTIONS[4:]:
        for action in known[name]:
            assert re.search(rf"odradek {name} {action}\s", page), action


def test_an_interrupted_command_ends_as_the_shell_expects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "find", lambda name: interrupted)
    assert main(["serve"]) == 130


def test_help_of_a_command_loads_neither_loop_nor_storage() -> None:
    """`odradek serve --help` and `odradek health` answer in well under 100 ms."""
    script = (
        "import sys; from odradek.broker.cli.main import main\n"
        "try: main(['serve', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'asyncio', 'uvloop', 'sqlite3', 'storage', 'aiokafka', 'click'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == "[]"


def test_modules_of_a_project_meet_nothing_of_ours(tmp_path: Path) -> None:
    for name in ("client", "protocol", "storage", "broker", "terminal"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('of a project')")
    done = subprocess.run(
        [sys.executable, "-m", "odradek", "topic", "list", *NOBODY],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Connection refused" in done.stderr
    assert done.stderr.count("\n") == 1
