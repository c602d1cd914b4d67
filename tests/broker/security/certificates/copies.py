"""Files of a listener that a test may change."""

import shutil
from pathlib import Path

from odradek.broker.config.options.security.per_listener import SecurityOptions
from tests.broker.security.certificates.options import tls_options
from tests.certificates import Holder


class Copies:
    """The certificate and the key of somebody, where nobody else uses them."""

    def __init__(self, folder: Path, holder: Holder) -> None:
        self.holder = Holder(folder / "broker.pem", folder / "broker.key")
        self._count = 0
        self.put(holder)

    @property
    def options(self) -> SecurityOptions:
        return tls_options(self.holder)

    def put(self, holder: Holder) -> None:
        """Put the files of ``holder`` in the place, as ``mv`` does."""
        for source, target in zip(holder, self.holder, strict=True):
            self._count += 1
            new = target.with_suffix(f".{self._count}")
            shutil.copyfile(source, new)
            new.chmod(0o600)
            new.rename(target)

    def spoil(self) -> None:
        """Put a key there that is no key."""
        self.holder.key.write_text("hello")
