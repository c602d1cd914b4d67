"""Users in the data directory of a broker that does not run: the first ones of all.

The directory is locked meanwhile, so no broker starts on it, and it may be empty: the
catalogue that is made then is the one with which a broker will begin.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.catalog.catalog import Change as CatalogChange
from odradek.broker.metadata.catalog.store import make_directory
from odradek.broker.metadata.resource_options import ResourceOptions
from odradek.broker.metadata.scram_credentials import ScramCredentials
from odradek.storage.directory.log_directory import DirectoryLock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from odradek.broker.handlers.security.scram import Change
    from odradek.broker.metadata.catalog.store import CatalogStore

_T = TypeVar("_T")
_FIRST_USER = "first_user"


def with_users(directory: Path, act: Callable[[ScramCredentials], Awaitable[_T]]) -> _T:
    """What ``act`` makes of the users of the broker that this directory belongs to.

    ``directory`` is the one with the catalogue; it is made where there is none.

    Raises:
        DirectoryInUse: a broker runs on it.
        StartError, CatalogError, OSError: it cannot be used.
    """
    return _with_catalog(directory, lambda _, users: act(users))


def put_first_user(
    directory: Path,
    user: str,
    changes: Sequence[Change],
    cluster_id: str | None = None,
) -> bool:
    """Store a user's credentials, if no first user has been made there before.

    Once it has, nothing is done ever after: who changes that password, or removes the
    user, finds it so after the next start. Nor has a user who is there already another
    password then. A new catalogue is that of ``cluster_id``. Returns whether it was
    made.

    Raises:
        As `with_users`; KafkaError: the credentials are none.
    """

    def note(store: CatalogStore) -> None:
        store.set_fact(_FIRST_USER, user)

    async def act(catalog: Catalog, users: ScramCredentials) -> bool:
        if catalog.store.fact(_FIRST_USER) is not None:
            return False
        is_known = bool(users.of(user))
        if not is_known:
            await alter_all(users, changes)
        await catalog.change(lambda: CatalogChange(lambda _: None, note))
        return not is_known

    return _with_catalog(directory, act, cluster_id)


async def alter_all(users: ScramCredentials, changes: Sequence[Change]) -> None:
    """Make all of these changes.

    Raises:
        KafkaError: one of them cannot be.
    """
    from odradek.broker.handlers.security.scram import alter_credential, check_change

    for change in changes:
        check_change(change)
    for change in changes:
        await alter_credential(users, change)


def _with_catalog(
    directory: Path,
    act: Callable[[Catalog, ScramCredentials], Awaitable[_T]],
    cluster_id: str | None = None,
) -> _T:
    _check_ours(directory)
    make_directory(directory)
    lock = DirectoryLock(directory)
    try:
        catalog = Catalog.open(directory, cluster_id)

        async def run() -> _T:
            try:
                users = ScramCredentials(ResourceOptions(catalog))
                return await act(catalog, users)
            finally:
                await catalog.close()

        return asyncio.run(run())
    finally:
        lock.release()


def _check_ours(directory: Path) -> None:
    from odradek.broker.adoption.check import check_adopted
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.storage.directory.data_format import check_formats
    from odradek.storage.files.files import OsFiles

    files = OsFiles()
    check_adopted(BrokerConfig(log_dirs=(directory,)), files)
    check_formats(files, (directory,))
