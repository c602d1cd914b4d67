"""Starts a broker, for `odradek.testing`; run with ``python -I``, so by its path.

Isolated, Python sees neither PYTHONPATH nor the working directory: nothing that a
project calls like a module of ours, or of Python's, is in the way.
"""

import os
import sys

# launch.py --forks PROCESS: wait for that process to order brokers (forks.py).
FORKS = "--forks"
# launch.py --remove PROCESS DIRECTORY ARGUMENTS: with that process ends the broker,
# and who would have removed the directory.
REMOVE = "--remove"


def main() -> int:
    """``launch.py ARGUMENTS``: the command ``odradek`` with these."""
    # Not resolved: in a checkout `odradek/testing` is a link.
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if home not in sys.path:
        sys.path.insert(0, home)  # or another odradek may be found
    arguments = sys.argv[1:]
    if arguments[:1] == [FORKS]:
        from odradek.broker.cli.node.fork_server import next_broker

        ordered = next_broker(int(arguments[1]))
        if ordered is None:
            return 0
        arguments = ordered  # this is a fork: a broker
    from odradek.broker.cli.main import main as odradek

    if arguments[:1] != [REMOVE]:
        return odradek(arguments)
    process_id, directory, *arguments = arguments[1:]
    code = odradek(arguments)
    if has_ended(int(process_id)):
        import shutil

        shutil.rmtree(directory, ignore_errors=True)
    return code


def has_ended(process_id: int) -> bool:
    """Whether that process is gone, or waits only to be buried."""
    try:
        if not hasattr(os, "pidfd_open"):
            os.kill(process_id, 0)
            return False
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    import select

    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    raise SystemExit(main())
