"""``odradek`` without a garbage collector; asked by SIGUSR1 for what it would collect.

The answer goes, as JSON, into the file that the environment names: the large buffers in
garbage, each with its type and size. Then they are collected after all.
"""

import gc
import json
import os
import signal
import threading
from pathlib import Path

from odradek.broker.cli.main import main
from tests.garbage import large_buffers

VARIABLE = "UNCOLLECTED_REPORT"


def _never() -> None:
    """Collect nothing from here on."""


def answer() -> None:
    path = Path(os.environ[VARIABLE])
    found = [(type(each).__name__, len(each)) for each in large_buffers(gc.garbage)]
    path.with_suffix(".new").write_text(json.dumps(found))
    path.with_suffix(".new").rename(path)


def listen() -> None:
    while True:
        signal.sigwait({signal.SIGUSR1})
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        answer()
        gc.set_debug(0)
        gc.garbage.clear()
        gc.collect()  # or the next answer would tell of the same again


if __name__ == "__main__":
    # Threads inherit it: the signal is for the one that waits for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    threading.Thread(target=listen, name="listen", daemon=True).start()
    gc.disable()
    gc.enable = _never
    raise SystemExit(main())
