"""CRC-32C, the checksum of record batches and of producer snapshots."""

from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING

__all__ = ["crc32c"]

if TYPE_CHECKING:
    from collections.abc import Callable

    from crc32c import crc32c
else:

    def _load() -> "Callable[..., int]":
        """The function out of crc32c's extension module, without its package.

        The package asks importlib.metadata for its own version, which takes 30 ms: a
        third of what a broker needs to start.
        """
        package = PathFinder.find_spec("crc32c")
        name = "crc32c._crc32c"
        spec = package and PathFinder.find_spec(
            name, package.submodule_search_locations
        )
        if spec is None:
            from crc32c import crc32c

            return crc32c
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.crc32c

    crc32c = _load()
