"""A number that only this cluster has: made once, and in no answer.

Of it are made the salts of users that there are not (`security/login/decoy.py`), which
have to be the same after a restart.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from .catalog.catalog import Change

if TYPE_CHECKING:
    from .catalog.catalog import Catalog
    from .catalog.store import CatalogStore

_FACT = "login_secret"
_SIZE = 32


async def login_secret(catalog: Catalog) -> bytes:
    """The secret; the first who asks has it made.

    Raises:
        KafkaStorageError: it cannot be stored.
    """
    secret: str = await catalog.change(lambda: Change(str, _known_or_new))
    return bytes.fromhex(secret)


def _known_or_new(store: CatalogStore) -> str | int:
    known = store.fact(_FACT)
    if known is None:
        known = secrets.token_hex(_SIZE)
        store.set_fact(_FACT, known)
    return known
