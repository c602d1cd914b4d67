"""The first start of a broker that is to be secure: certificates, and its first user.

What is there already stays; a start that was interrupted goes on where it ended.
"""

from __future__ import annotations

import logging
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.broker.cli.secure.secure_folder import SecureFolder, credentials
from odradek.broker.config.secure_defaults import FOLDER
from odradek.broker.runtime.start_error import StartError
from odradek.broker.security.issuing.issuer import IssuingError
from odradek.terminal.password import NoPassword, made_password, password_in

from .stopped_directory import put_first_user

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.config.secure_defaults import FirstUser

_logger = logging.getLogger(__name__)
_EVERY = ("", "0.0.0.0", "::")


def prepare(config: BrokerConfig, user: FirstUser, *, secure: bool) -> None:
    """Make the first user before the broker starts, and certificates if ``secure``.

    Raises:
        StartError: it cannot be made; says why.
        DirectoryInUse, CatalogError, OSError: the data directory cannot be used.
    """
    try:
        _prepare(config, user, secure=secure)
    except (IssuingError, NoPassword) as error:
        raise StartError(f"no secure start: {error}") from None


def _prepare(config: BrokerConfig, user: FirstUser, *, secure: bool) -> None:
    folder = SecureFolder((config.catalog_directory / FOLDER).absolute())
    if secure and not folder.keys.server.exists():
        now = datetime.now(UTC)
        folder.keys.make_ca(now)
        names = folder.keys.make_server(_names(config), now)
        _logger.info(
            "security: a CA and a certificate for %s are made in %s; clients trust %s",
            ", ".join(names),
            folder.path,
            folder.keys.ca,
        )
    if user.password_file is not None:
        password = password_in(Path(user.password_file))
    else:
        password = folder.keep_password(made_password())
        folder.write_clients(_bootstrap(config), user.name, password)
    changes = credentials(user.name, password)
    is_new = put_first_user(
        config.catalog_directory, user.name, changes, config.cluster_id
    )
    if is_new:
        file = user.password_file or folder.password_file
        _logger.info("security: the first user is %s, password in %s", user.name, file)
        if user.password_file is None:
            _logger.info(
                "security: 'odradek secure show --dir %s' shows what to paste into"
                " clients",
                folder.path,
            )


def _names(config: BrokerConfig) -> list[str]:
    """The hosts by which clients may come, that which they are told first."""
    told = config.without_controllers(config.advertised_listeners)
    hosts = [each.host for each in (*told, *config.client_listeners)]
    hosts.append(socket.gethostname())
    return [host for host in dict.fromkeys(hosts) if host not in _EVERY]


def _bootstrap(config: BrokerConfig) -> str:
    """Where the first user's client connects to; empty where no port is known yet."""
    told = config.without_controllers(config.advertised_listeners)
    listeners = [each for each in config.client_listeners if each.has_login]
    for listener in listeners:
        if not listener.has_tls:
            continue
        named = [each for each in told if each.name == listener.name]
        host, port = listener.reached_at, listener.port
        if named:
            host, port = named[0].host, named[0].port
        host = f"[{host}]" if ":" in host else host
        return f"{host}:{port}" if port else ""
    return ""
