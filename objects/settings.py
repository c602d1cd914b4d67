"""How a store is found, and with what it is asked: options, environment, files.

Options are what anybody may see: endpoint, region, profile, account. Credentials are
found where the cloud's own tools find them, on the machine that asks, and are in
nothing that is shown, stored or sent.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .aws_profile import AwsProfile
from .azure_environment import azure_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .aws_profile import AwsCredentials
    from .location import ObjectLocation

# What each scheme takes.
OPTIONS: dict[str, dict[str, str]] = {
    "s3": {
        "endpoint": "the URL of a store that is not Amazon's own",
        "region": "the region of the bucket",
        "profile": "whose credentials and region in ~/.aws are taken",
    },
    "gs": {},
    "az": {
        "account": "the storage account",
        "endpoint": "the URL of the account, where it is not Microsoft's own",
    },
}
_SECRETS = ("key", "secret", "token", "password", "credential", "sas", "connection")
_ENV_S3 = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_REMEDIES = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (with temporary ones"
    " AWS_SESSION_TOKEN), or name a profile of ~/.aws (option profile, AWS_PROFILE), or"
    " give the machine a role",
    "gs": "run `gcloud auth application-default login`, or let"
    " GOOGLE_APPLICATION_CREDENTIALS name the key of a service account, or give the"
    " machine one",
    "az": "set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or"
    " AZURE_STORAGE_CONNECTION_STRING, or run `az login`, or give the machine an"
    " identity",
}


def check_options(scheme: str, options: Mapping[str, str]) -> None:
    """Refuse what is no option of such a store, a secret above all.

    Raises:
        ValueError: says which, and what there is.
    """
    known = OPTIONS[scheme]
    for name, value in options.items():
        if name in known:
            _check_endpoint(name, value)
            continue
        if any(word in name.lower() for word in _SECRETS):
            raise ValueError(
                f"{name}: a secret does not belong here. For {scheme}://"
                f" {_REMEDIES[scheme]}"
            )
        close = get_close_matches(name, known, n=1)
        meant = f" Did you mean {close[0]}?" if close else ""
        there = ", ".join(known) or "none"
        raise ValueError(f"{scheme}:// has no option {name}.{meant} There are: {there}")


def _check_endpoint(name: str, value: str) -> None:
    if name != "endpoint":
        return
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"endpoint {value}: write it like https://host:9000")
    if parts.username is not None or parts.query:
        raise ValueError(
            "endpoint: a URL with a user or with a query in it may hold a secret; leave"
            " them out"
        )


@dataclass(frozen=True)
class StoreSettings:
    """A place in a store, and the options that were given for it."""

    location: ObjectLocation
    options: Mapping[str, str]
    environment: Mapping[str, str] = field(
        default_factory=lambda: os.environ, repr=False, compare=False
    )

    @property
    def scheme(self) -> str:
        """The cloud, by the scheme of its URLs."""
        return self.location.scheme

    @property
    def word_for_bucket(self) -> str:
        """What this cloud calls it."""
        return "container" if self.scheme == "az" else "bucket"

    @property
    def remedy(self) -> str:
        """Where credentials are looked for."""
        return _REMEDIES[self.scheme]

    @property
    def profile(self) -> AwsProfile:
        """The profile of AWS's files that counts."""
        named = self.options.get("profile") or self.environment.get("AWS_PROFILE")
        return AwsProfile(named or "default", self.environment)

    @property
    def endpoint(self) -> str:
        """The URL that is asked; empty for the cloud's own."""
        if given := self.options.get("endpoint"):
            return given
        if self.scheme == "az":
            return azure_environment(self.environment).get("endpoint", "")
        if self.scheme == "gs":
            return ""
        for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"):
            if found := self.environment.get(name):
                return found
        return self.profile.settings().get("endpoint_url", "")

    @property
    def region(self) -> str:
        """Of S3."""
        if given := self.options.get("region"):
            return given
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
            if found := self.environment.get(name):
                return found
        return self.profile.settings().get("region") or "us-east-1"

    @property
    def account(self) -> str:
        """Of Azure."""
        if given := self.options.get("account"):
            return given
        return azure_environment(self.environment).get("account_name", "")

    @property
    def host(self) -> str:
        """Who is asked."""
        if endpoint := self.endpoint:
            return urlsplit(endpoint).netloc.rpartition("@")[2] or "the store"
        if self.scheme == "s3":
            return f"s3.{self.region}.amazonaws.com"
        if self.scheme == "gs":
            return "storage.googleapis.com"
        return f"{self.account or '(no account)'}.blob.core.windows.net"

    def for_tasks(self) -> dict[str, str]:
        """Options with which others find the same store; credentials they find alone.

        Raises:
            ValueError: the environment's endpoint may hold a secret.
        """
        found = dict(self.options)
        if self.scheme == "s3":
            found["region"] = self.region
        if self.scheme == "az" and self.account:
            found["account"] = self.account
        if self.endpoint:
            found["endpoint"] = self.endpoint
        check_options(self.scheme, found)
        return found

    def aws_credentials(self) -> AwsCredentials | None:
        """Those of a profile; None where the environment or the machine has others.

        Raises:
            StoreRefused: the profile's cannot be had.
        """
        in_environment = all(self.environment.get(name) for name in _ENV_S3)
        if in_environment and not self.options.get("profile"):
            return None
        return self.profile.credentials()

    def azure(self) -> dict[str, str]:
        """What the environment has of Azure, by the names of the store's options."""
        return azure_environment(self.environment)
