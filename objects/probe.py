"""Does a store mind conditions? Some take "only if absent", and write all the same.

With such a store two writers are both told that they were first. The same name is put
twice with two contents; the second must be refused. The object stays, so that nobody's
probe is in the way of another's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import StoreRefused

if TYPE_CHECKING:
    from .location import ObjectLocation
    from .store import ObjectStore

NAME = "probe"
_FIRST = b"This object shows that the store minds conditions.\n"
_SECOND = b"This store does not mind conditions.\n"


def check_conditions(store: ObjectStore, location: ObjectLocation, folder: str) -> None:
    """Put an object twice, below a folder of the location.

    Raises:
        StoreRefused: the store did it.
    """
    name = location.child(folder, NAME).path
    store.put_if_absent(name, _FIRST)
    if store.put_if_absent(name, _SECOND):
        store.delete([name])
        raise StoreRefused(
            f"the store {store.host} ignores conditions: asked to write an object only"
            " where there is none, it wrote over one. Two writers would lose each"
            f" other's commits; {location} needs a store that minds If-None-Match"
        )
