"""The store that a URL and its options mean."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .location import ObjectLocation, parse_location
from .settings import StoreSettings, check_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .store import ObjectStore


def read_settings(
    url: str | ObjectLocation,
    options: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
) -> StoreSettings:
    """The place and its options, looked at.

    Raises:
        ValueError: the URL or an option is wrong.
    """
    location = url if isinstance(url, ObjectLocation) else parse_location(url)
    check_options(location.scheme, options)
    given = os.environ if environment is None else environment
    settings = StoreSettings(location, dict(options), given)
    settings.for_tasks()  # what it finds in the environment may be wrong, too
    if location.scheme == "az" and not settings.account and not settings.endpoint:
        raise ValueError(
            f"{url}: name the storage account, with the option account or"
            " AZURE_STORAGE_ACCOUNT"
        )
    return settings


def open_store(settings: StoreSettings) -> ObjectStore:
    """The store; it is asked for nothing yet.

    Raises:
        ModuleNotFoundError: obstore is not installed.
    """
    from .cloud import CloudStore

    return CloudStore(settings)
