"""The extensions in C: which are here, and what helps where they are not.

Without them plain Python does the same work, slower.
"""

from __future__ import annotations

import sys
from importlib import import_module

# What each is for, and its module.
EXTENSIONS = {
    "records": "odradek.protocol.speedups",
    "syncs": "odradek.broker.durability.sync_thread",
}


def is_here(purpose: str) -> bool:
    """Whether the extension for that purpose was built, and can be loaded."""
    try:
        import_module(EXTENSIONS[purpose])
    except ImportError:
        return False
    return True


def expected() -> list[str]:
    """Those that a compiler makes here: the one for syncs needs Linux's eventfd."""
    return [name for name in EXTENSIONS if name != "syncs" or sys.platform == "linux"]


def what_is_missing() -> str | None:
    """What plain Python does instead, and what helps; None where nothing is missing."""
    missing = [purpose for purpose in expected() if not is_here(purpose)]
    if not missing:
        return None
    slow = f"plain Python does the work of the C extensions ({', '.join(missing)})"
    import sysconfig  # what is said is rare

    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return f"{slow}: there are none for a Python without the GIL. It is slower"
    from odradek.terminal.installation import install_command, origin_of_installed

    slow += ", which is slower: they were not built"
    if origin_of_installed().is_wheel:
        return f"{slow}. Install a wheel that was made where there is a C compiler"
    return (
        f"{slow}. Install a C compiler and the headers of Python (apt install gcc"
        " python3-dev; xcode-select --install), then:"
        f" {install_command(again=True)}"
    )
