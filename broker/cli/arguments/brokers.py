"""How a command is told which cluster it asks: by address, or by data directory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.client.defaults import (
    BOOTSTRAP_SERVER,
    BOOTSTRAP_VARIABLE,
    CLIENT_CONFIG_VARIABLE,
    client_file,
    default_bootstrap,
)
from odradek.client.profiles import PROFILE_VARIABLE, profile_in_use
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser
from odradek.terminal.screen import choose_colors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.client.address import Address

_ASK_TIMEOUT_S = 5.0


class ClusterParser(Parser):
    """A parser whose values have the addresses of brokers, ``bootstrap_server``.

    ``opens_directory``: what ``--data-dir`` names is asked without any listener, so
    the addresses of its broker are not looked for.
    """

    opens_directory = False

    def __init__(
        self, command: str, description: str, examples: Sequence[str] = ()
    ) -> None:
        super().__init__(command, description, examples)
        # One of them; a command may know other ways to name what it asks.
        self.named = named = self.add_mutually_exclusive_group()
        named.add_argument(
            "--bootstrap-server",
            type=addresses,
            metavar="HOST:PORT",
            help="a broker of the cluster, or several with commas (default:"
            f" ${BOOTSTRAP_VARIABLE}, or else {BOOTSTRAP_SERVER})",
        )
        named.add_argument(
            "--data-dir",
            type=Path,
            metavar="DIR",
            help="the broker that runs on this data directory, whatever its port is",
        )
        self.add_argument(
            "--profile",
            metavar="NAME",
            help="brokers, registry and colours of this profile (default:"
            f" ${PROFILE_VARIABLE}, or the one in use; see odradek profile)",
        )
        self.add_argument(
            "--command-config",
            metavar="FILE",
            help="a file of client options for TLS and SASL, as Java's tools and"
            f" librdkafka's have it (default: ${CLIENT_CONFIG_VARIABLE}, or the"
            " profile's)",
        )

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The arguments' values. Ends the process when they name no broker."""
        options = super().parse(arguments)
        self.find_brokers(options)
        return options

    def find_brokers(self, options: argparse.Namespace) -> None:
        """Set ``bootstrap_server`` and ``security``.

        Ends the process when there is no broker, or the client's options are wrong.
        """
        try:
            self._use_client_file(options)
            self._use_profile(options)
        except ValueError as error:
            self.error(str(error))
        if options.data_dir is not None and not self.opens_directory:
            options.bootstrap_server = self._running_on(options.data_dir)

    def _use_client_file(self, options: argparse.Namespace) -> None:
        is_named = options.data_dir is not None or options.bootstrap_server is not None
        given = client_file(options.command_config, options.profile, is_named=is_named)
        options.security = given.security if given else None
        if is_named or not (given and given.bootstrap_servers):
            return
        # Who names a file means its brokers; otherwise they are the last to be asked.
        if options.command_config or not default_bootstrap(options.profile)[1]:
            options.bootstrap_server = addresses(given.bootstrap_servers)

    def _use_profile(self, options: argparse.Namespace) -> None:
        is_named = options.data_dir is not None or options.bootstrap_server is not None
        if not is_named:
            options.bootstrap_server = self._default(options.profile)
        if options.profile or not is_named:
            _, profile = profile_in_use(options.profile)
            if options.color is None and profile.color:
                choose_colors(profile.color)

    def _running_on(self, data_directory: Path) -> list[Address]:
        from odradek.broker.cli.admin.admin_client import AdminRefusal, broker_addresses

        try:
            return broker_addresses(data_directory, _ASK_TIMEOUT_S)
        except (AdminRefusal, OSError) as error:
            raise SystemExit(fail(self._command, FAILED, error)) from None

    def _default(self, profile: str | None) -> list[Address]:
        text, who = default_bootstrap(profile)
        try:
            return addresses(text)
        except argparse.ArgumentTypeError as error:
            self.error(f"{who}: {error}")


def addresses(text: str) -> list[Address]:
    """The brokers of ``HOST:PORT,HOST:PORT``; for ``type=``."""
    from odradek.client.address import parse_addresses

    try:
        return parse_addresses(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
