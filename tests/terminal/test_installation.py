import json
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.terminal import installation
from odradek.terminal.installation import Origin, install_command, origin_of_installed

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def usual_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that was activated: its pip is the one on the path."""
    monkeypatch.setattr(installation, "_HERE", Path("/nowhere"))
    beside = str(Path(sys.executable).with_name("pip"))
    monkeypatch.setattr(installation.shutil, "which", lambda _: beside)


def installed_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, note: dict[str, object] | None
) -> None:
    """As if pip had put it there, and noted this."""
    folder = tmp_path / "site"
    info = folder / "odradek-9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: odradek\nVersion: 9\n")
    if note is not None:
        (info / "direct_url.json").write_text(json.dumps(note))
    monkeypatch.setattr(sys, "path", [str(folder)])


def folder_note(folder: Path, **said: object) -> dict[str, object]:
    return {"url": folder.as_uri(), "dir_info": said}


def test_from_an_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed_from(monkeypatch, tmp_path, None)
    assert install_command("pipeline") == "pip install 'odradek[pipeline]'"
    assert install_command() == "pip install odradek"


def test_from_the_folder_in_which_one_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed_from(monkeypatch, tmp_path, folder_note(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert install_command("pipeline") == "pip install '.[pipeline]'"
    monkeypatch.chdir(tmp_path / "site")
    assert install_command("delta") == f"pip install '{tmp_path}[delta]'"


def test_editable_stays_editable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "a folder"
    installed_from(monkeypatch, tmp_path, folder_note(folder, editable=True))
    monkeypatch.chdir(tmp_path)
    assert install_command("avro") == "pip install -e './a folder[avro]'"


@pytest.mark.parametrize(
    ("note", "requirement"),
    [
        (
            {"url": "file:///w/odradek-9-py3-none-any.whl", "archive_info": {}},
            "/w/odradek-9-py3-none-any.whl[delta]",
        ),
        (
            {"url": "https://a.example/odradek-9.tar.gz", "archive_info": {}},
            "odradek[delta] @ https://a.example/odradek-9.tar.gz",
        ),
        (
            {
                "url": "https://a.example/odradek.git",
                "vcs_info": {"vcs": "git", "commit_id": "c0ffee"},
            },
            "odradek[delta] @ git+https://a.example/odradek.git@c0ffee",
        ),
    ],
)
def test_from_a_file_or_an_address(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    note: dict[str, object],
    requirement: str,
) -> None:
    installed_from(monkeypatch, tmp_path, note)
    assert install_command("delta") == f"pip install '{requirement}'"


def test_not_installed_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert install_command("delta") == "pip install 'odradek[delta]'"
    monkeypatch.setattr(installation, "_HERE", ROOT)
    assert origin_of_installed() == Origin(ROOT.as_uri(), is_editable=True)
    # What a build leaves in the folder of the sources says no more.
    installed_from(monkeypatch, tmp_path, None)
    assert origin_of_installed() == Origin(ROOT.as_uri(), is_editable=True)


@pytest.mark.parametrize("name", ["odradek-9.tar.gz", "odradek-9-py3-none-any.whl"])
def test_a_wheel_is_known(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed_from(monkeypatch, tmp_path, {"url": f"file:///{name}"})
    assert origin_of_installed().is_wheel == name.endswith(".whl")


def test_the_pip_on_the_path_is_of_another_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed_from(monkeypatch, tmp_path, None)
    python = tmp_path / "venv" / "bin" / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(installation, "find_spec", lambda _: True)
    assert install_command() == f"{python} -m pip install odradek"
    monkeypatch.chdir(tmp_path)
    assert install_command() == "./venv/bin/python -m pip install odradek"
    (tmp_path / "sub").mkdir()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "sub/../venv/bin/python"))
    assert install_command() == "./venv/bin/python -m pip install odradek"
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    assert install_command("delta") == (
        "uv pip install --python ./venv/bin/python 'odradek[delta]'"
    )
    assert install_command(again=True) == (
        "uv pip install --python ./venv/bin/python --reinstall --no-deps odradek"
    )


def test_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed_from(monkeypatch, tmp_path, folder_note(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert install_command(again=True) == (
        "pip install --force-reinstall --no-deps --no-cache-dir ."
    )


def test_nobody_who_lacks_nothing_loads_it() -> None:
    """What it imports takes longer than a command."""
    code = (
        "import sys\n"
        "from odradek.broker.cli.main import BUILT_IN, find\n"
        "import odradek.broker.node.server\n"
        "for name in BUILT_IN: find(name)\n"
        "print('odradek.terminal.installation' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "False\n", run.stderr
