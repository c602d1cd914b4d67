#!/usr/bin/env python3
"""Is the odradek that this Python has installed whole? It serves, writes and reads.

.ci/try_installed.py --compiled    # and its extensions in C are there
.ci/try_installed.py --plain       # and none of them is, which `serve` says once
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("odradek"))
TIMEOUT_S = 120
LINES = [f"line {number}" for number in range(100)]
PLAIN = "plain Python does the work of the C extensions"
EXTENSIONS = ("records", "syncs") if sys.platform == "linux" else ("records",)


def main() -> int:
    """Try it; a failure is an AssertionError that says what."""
    parser = argparse.ArgumentParser(description=__doc__)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--compiled", action="store_true")
    wanted.add_argument("--plain", action="store_true")
    is_compiled = parser.parse_args().compiled
    signal.alarm(2 * TIMEOUT_S)  # whatever hangs ends
    import odradek

    assert version("odradek") == odradek.__version__, version("odradek")
    found = json.loads(run("version", "--json"))
    assert found["odradek"] == odradek.__version__, found
    for purpose in EXTENSIONS:
        assert (found[purpose] == "C extension") == is_compiled, found
    assert "log.dirs=" in run("config", "example")
    assert json.loads(run("config", "example", "dashboard"))["panels"]
    with tempfile.TemporaryDirectory() as folder:
        log = serve_and_use(Path(folder))
    assert log.count(PLAIN) == (0 if is_compiled else 1), log
    print(f"well: {found}, {odradek.__file__}")
    return 0


def run(*arguments: str, said: str = "") -> str:
    """What a command answers."""
    done = subprocess.run(
        [COMMAND, *arguments],
        input=said,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def serve_and_use(folder: Path) -> str:
    """The log of a broker that took records, gave them back, and was stopped."""
    log = folder / "log"
    with log.open("w") as error:
        broker = subprocess.Popen(
            [COMMAND, "serve", "--port", "0", "--data-dir", str(folder / "data")],
            stdout=subprocess.PIPE,
            stderr=error,
            text=True,
        )
    try:
        assert broker.stdout is not None
        ready = broker.stdout.readline()
        assert ready.startswith("odradek ready on "), ready + log.read_text()
        server = "--bootstrap-server", ready.split()[3].rstrip(",")
        run("produce", "tried", *server, said="\n".join(LINES) + "\n")
        assert run("consume", "tried", "-e", *server).splitlines() == LINES
    finally:
        broker.terminate()
        code = broker.wait(TIMEOUT_S)
    assert code == 0, log.read_text()
    return log.read_text()


if __name__ == "__main__":
    raise SystemExit(main())
