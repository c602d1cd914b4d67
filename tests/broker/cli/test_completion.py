import shutil
import subprocess
from pathlib import Path

import pytest

from odradek.broker.cli.completion import words
from odradek.broker.cli.main import BUILT_IN, main

Captured = pytest.CaptureFixture[str]


def test_words_follow_each_other() -> None:
    known = words()
    assert known[""] == sorted(BUILT_IN)
    assert {"create", "delete-records"} <= set(known["topic"])
    assert {"--partitions", "--bootstrap-server", "--json"} <= set(
        known["topic create"]
    )
    assert {"--offset", "--format"} <= set(known["consume"])
    assert all(word.startswith("--") for word in known["consume"])
    sink = known["pipeline sink"]
    assert sink[:3] == ["start", "once", "status"]
    assert {"--json", "--rebuild-checkpoint"} <= set(sink[3:])


def completed(script: str, *typed: str) -> list[str]:
    words = " ".join(f"'{word}'" for word in ("odradek", *typed))
    lines = f"{script}\nCOMP_WORDS=({words}); COMP_CWORD={len(typed)}; _odradek\n"
    lines += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", lines], capture_output=True, check=True)
    return done.stdout.decode().split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash(capsys: Captured) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert completed(script, "to") == ["token", "topic"]
    assert completed(script, "topic", "cr") == ["create"]
    assert completed(script, "topic", "create", "--rep") == ["--replication-factor"]
    assert completed(script, "produce", "t", "--json-l") == ["--json-lines"]
    assert completed(script, "completion", "f") == ["fish"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_asks_for_names(capsys: Captured, tmp_path: Path) -> None:
    """A name is text to the shell, whatever stands in it."""
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    command = tmp_path / "odradek"
    command.write_text(
        f"""#!/bin/sh
printf '%s\\n' "$@" > {tmp_path}/asked
printf '%s\\n' billing 'my group' '$(touch {tmp_path}/ran)'
"""
    )
    command.chmod(0o755)
    words = ["odradek", "group", "describe", "--bootstrap-server", "a", ":", "1", "b"]
    quoted = " ".join(f"'{word}'" for word in words)
    lines = f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
    lines += f'_odradek {command}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", lines], capture_output=True, check=True)
    found = done.stdout.decode().splitlines()
    assert found[:2] == ["billing", "my\\ group"]
    assert found[2].startswith("\\$\\(touch")
    assert not (tmp_path / "ran").exists()
    asked = (tmp_path / "asked").read_text().split()
    assert asked == ["completion", "names", "--cut", "--", *words[1:]]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells(shell: str, capsys: Captured) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "replication-factor" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script.encode(), check=True)


def test_an_unknown_shell(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "tcsh"])
    assert ended.value.code == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
