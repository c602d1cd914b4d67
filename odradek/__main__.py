"""``python -m odradek``: the same as the command ``odradek``."""

from odradek.broker.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
