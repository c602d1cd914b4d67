"""A worker of Spark that no daemon has forked, silent when Spark lets it go.

What plans a stream is one: ``python -m odradek.pipeline.workers.lone MODULE ...`` runs
that module as Spark would have. When a stream is stopped, its connection is closed, and
Python would print three tracebacks of that.
"""

from __future__ import annotations

import os
import runpy
import sys

# That nobody listens any more.
LET_GO = (BrokenPipeError, ConnectionResetError)


def main() -> None:
    """Run the module that the first argument names."""
    name = sys.argv.pop(1)
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except LET_GO:
        os._exit(1)  # nothing is left to be flushed


if __name__ == "__main__":
    main()
