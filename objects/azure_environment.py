"""What Azure's own command line finds in the environment, by other libraries' names.

They look for ``AZURE_STORAGE_ACCOUNT_NAME`` and the like by themselves; ``az`` has
shorter names, and one variable with all in it.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = {
    "AZURE_STORAGE_ACCOUNT": "account_name",
    "AZURE_STORAGE_ACCOUNT_NAME": "account_name",
    "AZURE_STORAGE_KEY": "account_key",
    "AZURE_STORAGE_ACCOUNT_KEY": "account_key",
    "AZURE_STORAGE_ACCESS_KEY": "account_key",
    "AZURE_STORAGE_SAS_TOKEN": "sas_token",
    "AZURE_STORAGE_ENDPOINT": "endpoint",
    "AZURE_ENDPOINT": "endpoint",
}
_PARTS = {
    "AccountName": "account_name",
    "AccountKey": "account_key",
    "BlobEndpoint": "endpoint",
    "SharedAccessSignature": "sas_token",
}
# With one of them the libraries find a credential of the machine or of a service.
_OTHERS = (
    *("AZURE_CLIENT_ID", "AZURE_STORAGE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"),
    *("AZURE_STORAGE_TOKEN", "MSI_ENDPOINT", "IDENTITY_ENDPOINT"),
)


def azure_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Options of a store, secrets among them."""
    found = {}
    for part in environment.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";"):
        name, _, value = part.partition("=")
        if name in _PARTS and value:
            found[_PARTS[name]] = value
    for variable, name in _NAMES.items():
        if given := environment.get(variable):
            found[name] = given
    if not found.keys() & {"account_key", "sas_token"} and not any(
        environment.get(name) for name in _OTHERS
    ):
        path = environment.get("PATH")
        if shutil.which("az", path=path):
            found["use_azure_cli"] = "true"
    return found
