"""What deltalake is told of a store, so that it asks the same one, as the same user.

It has names of its own for what `StoreSettings` says. Credentials that it finds by
itself, in the environment or from the machine, are left to it; those of a profile it
is given, newly read for each use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.objects.settings import StoreSettings

# A conditional request is tried again, too: who was there first is looked at behind it.
_RETRIES = {"max_retries": "6", "retry_timeout": "60s"}


def library_options(settings: StoreSettings) -> dict[str, str]:
    """The options; secrets may be among them: never to be shown.

    Raises:
        StoreRefused: a profile's credentials cannot be had.
    """
    options = dict(_RETRIES)
    if settings.scheme == "s3":
        options |= _s3(settings)
    if settings.scheme == "az":
        found = settings.azure()
        if settings.account:
            found["account_name"] = settings.account
        if settings.endpoint:
            found["endpoint"] = settings.endpoint
        options |= {f"azure_storage_{name}": text for name, text in found.items()}
        if cli := options.pop("azure_storage_use_azure_cli", ""):
            options["azure_use_azure_cli"] = cli
    if settings.endpoint.startswith("http://"):
        options["allow_http"] = "true"
    return options


def _s3(settings: StoreSettings) -> dict[str, str]:
    options = {"aws_region": settings.region, "aws_conditional_put": "etag"}
    if settings.endpoint:
        options["aws_endpoint_url"] = settings.endpoint
    if found := settings.aws_credentials():
        options["aws_access_key_id"] = found.key_id
        options["aws_secret_access_key"] = found.secret
        if found.token:
            options["aws_session_token"] = found.token
    return options
