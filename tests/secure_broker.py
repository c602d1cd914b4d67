"""A broker as ``odradek secure init`` and ``odradek serve`` make it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from odradek.broker.cli.main import main
from odradek.broker.cli.secure.secure_folder import SecureFolder
from tests.broker_process import BrokerProcess, running_broker


class SecureBroker:
    """A running one, and the folder with its certificates and passwords."""

    def __init__(self, folder: SecureFolder, process: BrokerProcess) -> None:
        self.folder = folder
        self.process = process

    @property
    def address(self) -> str:
        return self.process.address

    @property
    def as_admin(self) -> list[str]:
        """What a command is given to ask this broker as its first user."""
        config = ["--command-config", str(self.folder.java_file)]
        return [*config, "--bootstrap-server", self.address]


@contextlib.contextmanager
def secure_broker(folder: Path, *options: str) -> Iterator[SecureBroker]:
    """One with its data in ``folder``; any options of it besides."""
    made = SecureFolder(folder / "secure")
    data_dir = folder / "data"
    given = ["--dir", str(made.path), "--data-dir", str(data_dir), "--port", "0"]
    assert main(["secure", "init", *given]) == 0
    with running_broker(
        data_dir, "--config", str(made.server_file), *options
    ) as process:
        yield SecureBroker(made, process)
        assert "Traceback" not in process.log()
