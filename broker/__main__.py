"""``python -m broker``: the same as the command ``odradek``."""

from .cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
