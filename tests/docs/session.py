"""A reader who types all of a page: one shell, in an empty directory, with a broker.

Where a page says 9092, the broker of this reader has a port of its own: another broker
may have that one. What the page starts with ``odradek serve`` is left running.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.docs.pages import ROOT, Block, commands
from tests.patience import PATIENCE_S
from tests.ports import free_ports
from tests.testing.inner import WITHOUT_HYPOTHESIS

SERVES = re.compile(r"^(?:make serve|(?:\w+=\S+ )*odradek serve)\b([^&|]*)&?$")
# Other ports of the pages, beside that of the broker.
STANDARD_PORTS = ("9092", "9404")

# `odradek` asks the broker of the page where a reader's would ask port 9092.
SHIM = """#!/bin/bash
case "$1 $2" in
  "config show"|"config example") ;;
  serve*|health*)
    [[ " $* " == *" --port"* ]] || set -- "$@" --port {port} ;;
  topic*|produce*|consume*|config*|group*|txn*|user*|quota*|acl*|bench*|doctor*|\\
  'pipeline doctor')
    [[ " $* " == *" --bootstrap-server"* ]] \\
      || set -- "$@" --bootstrap-server 127.0.0.1:{port} ;;
esac
exec {python} -m odradek "$@"
"""

# The first line of `serve` says that it is ready. Its pipe is kept: it may write more.
PREAMBLE = """
set -e -o pipefail
at=start
trap 'status=$?; [ $status = 0 ] || echo "$at: exit status $status" >&2' EXIT
serve_behind() {
  mkfifo said
  "$@" > said &
  exec {said}< said
  rm said
  read -r ready <&$said
}
"""


class Session:
    """Blocks become one script, which runs in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = dict(zip(STANDARD_PORTS, free_ports(2), strict=True))

    def run(self, blocks: Iterable[Block]) -> str:
        """What all of it printed.

        Raises:
            AssertionError: a command failed; with all that was printed.
        """
        self._prepare()
        script = self.folder / "page.sh"
        script.write_text(self.script(list(blocks)), encoding="utf-8")
        printed_path = self.folder / "printed"
        with printed_path.open("wb") as output:
            process = subprocess.Popen(
                ["bash", script.name],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(timeout=PATIENCE_S)
            finally:
                with contextlib.suppress(ProcessLookupError):  # it served nothing
                    os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        printed = printed_path.read_text(encoding="utf-8", errors="replace")
        assert status == 0, printed
        return printed

    def script(self, blocks: list[Block]) -> str:
        parts = [PREAMBLE]
        if not any(_serves(block) for block in blocks if block.runs):
            parts.append("serve_behind odradek serve\n")
        for block in blocks:
            if before := block.comments.get("before"):
                parts.append(self._ported(before) + "\n")
            if name := block.comments.get("file"):
                self._write(name, block.text)
            elif block.runs:
                parts.append(f"at={block.place}\n{self._ported(self._typed(block))}")
        return "".join(parts)

    def _typed(self, block: Block) -> str:
        if block.language == "python":
            name = f"line_{block.line}.py"
            self._write(name, block.text)
            return f"python {name}\n"
        lines = block.text.splitlines()
        typed = commands(block.text) if block.language == "console" else lines
        return "".join(SERVES.sub(_behind, line) + "\n" for line in typed)

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._ported(text), encoding="utf-8")

    def _ported(self, text: str) -> str:
        for standard, own in self.ports.items():
            text = re.sub(rf"\b{standard}\b", str(own), text)
        return text

    def _prepare(self) -> None:
        (self.folder / "home").mkdir()
        shutil.copytree(ROOT / "config", self.folder / "config")
        shim = self.folder / "bin" / "odradek"
        shim.parent.mkdir()
        port = self.ports[STANDARD_PORTS[0]]
        shim.write_text(SHIM.format(port=port, python=sys.executable))
        shim.chmod(0o755)

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("KAFKA_", "PYTEST_", "XDG_"))
        }
        own = f"{self.folder / 'bin'}:{Path(sys.executable).parent}"
        return kept | {
            "PATH": f"{own}:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "PYTEST_ADDOPTS": " ".join(WITHOUT_HYPOTHESIS),
        }


def _serves(block: Block) -> bool:
    return any(SERVES.match(line.removeprefix("$ ")) for line in block.text.split("\n"))


def _behind(found: re.Match[str]) -> str:
    command = found[0].rstrip("& ").replace("make serve", "odradek serve")
    return f"serve_behind env {command}"
