"""A number that only this cluster has: made once, and in no answer.

Of it are made the salts of users that there are not (`security/login/decoy.py`), which
have to be the same after a restart.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .catalog.store import CatalogStore

_FACT = "login_secret"
_SIZE = 32


def login_secret(store: CatalogStore) -> bytes:
    """The secret; the first who asks has it made. Blocks: for the start."""
    known = store.fact(_FACT)
    if known is None:
        known = secrets.token_hex(_SIZE)
        store.set_fact(_FACT, known)
    return bytes.fromhex(str(known))
