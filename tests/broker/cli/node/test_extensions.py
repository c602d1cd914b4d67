import sys
import sysconfig

import pytest

from odradek.broker.cli.node.extensions import EXTENSIONS, is_here, what_is_missing
from odradek.terminal import installation
from odradek.terminal.installation import Origin


@pytest.fixture
def present(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both, on Linux, whether or not this machine has a compiler."""
    monkeypatch.setattr(sys, "platform", "linux")
    for module in EXTENSIONS.values():
        monkeypatch.setitem(sys.modules, module, sys)


@pytest.mark.usefixtures("present")
def test_nothing_is_said_where_nothing_is_missing() -> None:
    assert all(map(is_here, EXTENSIONS))
    assert what_is_missing() is None


@pytest.mark.usefixtures("present")
def test_it_names_what_is_missing_and_what_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, EXTENSIONS["syncs"], None)
    told = what_is_missing()
    assert told is not None
    assert "C extensions (syncs)" in told
    assert "Install a C compiler" in told
    assert "--no-deps" in told
    monkeypatch.setitem(sys.modules, EXTENSIONS["records"], None)
    assert "(records, syncs)" in (what_is_missing() or "")


@pytest.mark.usefixtures("present")
def test_the_same_wheel_again_would_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, EXTENSIONS["records"], None)
    wheel = Origin("file:///w/odradek-9-py3-none-any.whl")
    monkeypatch.setattr(installation, "origin_of_installed", lambda: wheel)
    told = what_is_missing()
    assert told is not None
    assert "Install a wheel that was made where there is a C compiler" in told
    assert "pip" not in told


@pytest.mark.usefixtures("present")
def test_what_only_linux_has_is_missed_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, EXTENSIONS["syncs"], None)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert what_is_missing() is None
    monkeypatch.setitem(sys.modules, EXTENSIONS["records"], None)
    assert "(records)" in (what_is_missing() or "")


def test_no_compiler_helps_a_python_without_the_gil(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, EXTENSIONS["records"], None)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: "GIL" in name)
    told = what_is_missing()
    assert told is not None
    assert "without the GIL" in told
    assert "compiler" not in told
