"""``--odradek-update``: golden files are written, and not compared."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

# As `odradek.testing.golden` has it, which is not loaded before it is used.
UPDATE = "ODRADEK_UPDATE"


def add_option(parser: pytest.Parser) -> None:
    """Say that there is such an option."""
    parser.getgroup("odradek").addoption(
        "--odradek-update",
        action="store_true",
        help="write the golden files of assert_golden anew",
    )


def begin(config: pytest.Config) -> None:
    """Let it be known, in this process and in those that it starts."""
    if config.getoption("odradek_update"):
        os.environ[UPDATE] = "1"
        config.add_cleanup(_end)


def _end() -> None:
    os.environ.pop(UPDATE, None)
