"""How the brokers are spoken to, as driver and tasks are told: by reference.

Tasks get what was given, not what was read: the name of a file, ``${env:NAME}``. Each
machine reads for itself. A secret is sent only where somebody has given no reference
but the secret. Whom to trust is no secret: the driver reads that for all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from odradek.client.security import names
from odradek.client.security.client_file import (
    SERVERS,
    ClientFileError,
    is_read,
    read_client_options,
)
from odradek.client.security.names import SecurityOptionError, is_of_security
from odradek.client.security.options import read_security
from odradek.client.security.references import resolved
from odradek.client.security.settings import Secret
from odradek.pipeline.errors import SourceError

from .places import here, is_task, not_here

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.client.security.settings import Security

_FILES = (
    *(*names.TRUSTED_FILES, *names.CERTIFICATE_FILES, *names.KEY_FILES),
    *(names.TOKEN_FILE, names.HTTPS_FILE),
)
_CERTIFICATE = re.compile(
    "-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL
)


@dataclass(frozen=True)
class Access:
    """Options of TLS and SASL as they were given, and the file that has more of them.

    What is given goes before what the file says.
    """

    given: tuple[tuple[str, Secret], ...] = ()
    file: str = ""
    trusted: str = field(default="", repr=False)

    @classmethod
    def of(cls, given: Mapping[str, str], file: str = "") -> Access:
        """Made on the driver; all that they name is read once, and checked.

        Raises:
            SecurityOptionError: an option is unknown, or cannot be so.
            ClientFileError: the file cannot be read, or says what cannot be.
        """
        found = {name: text for name, text in given.items() if is_of_security(name)}
        access = cls(tuple((name, Secret(text)) for name, text in found.items()), file)
        security = access.security()
        if security is None or security.tls is None or not security.tls.trusted.path:
            return access
        trusted = "".join(_CERTIFICATE.findall(security.tls.trusted.text.value))
        return cls(access.given, file, trusted)

    def security(self) -> Security | None:
        """What they say on this machine; None for brokers that ask for nothing.

        Raises:
            SecurityOptionError, ClientFileError: as `of`.
            SourceError: the same, in a task.
        """
        if not (self.given or self.file):
            return None
        try:
            return read_security(self._with_files(), self.file)
        except SecurityOptionError as error:
            if is_task():
                raise SourceError(not_here(error)) from None
            if self.file and error.option not in dict(self.given):
                raise ClientFileError(f"{self.file}: {error}") from None
            raise
        except ClientFileError as error:
            if is_task():
                raise SourceError(not_here(error)) from None
            raise

    def bootstrap_servers(self) -> str:
        """The brokers that the file names, if it does."""
        found = self._of_file()
        return next((found[name] for name in SERVERS if name in found), "")

    def _with_files(self) -> dict[str, str]:
        options = self._of_file()
        options |= {name: secret.value for name, secret in self.given}
        options = resolved(options, here)
        for name in _FILES:
            if options.get(name, "probe") != "probe":
                options[name] = here(options[name])
        return self._with_trusted(options)

    def _with_trusted(self, options: dict[str, str]) -> dict[str, str]:
        """With the text of whom to trust, where the file is on the driver alone."""
        if not (self.trusted and is_task()):
            return options
        from os.path import exists

        for name in names.TRUSTED_FILES:
            if name in options and not exists(options[name]):
                del options[name]
                options[names.TRUSTED_TEXTS[1]] = self.trusted
        return options

    def _of_file(self) -> dict[str, str]:
        if not self.file:
            return {}
        found = read_client_options(here(self.file))
        return {name: text for name, text in found.items() if is_read(name)}


OPEN = Access()
