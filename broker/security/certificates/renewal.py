"""Certificates are renewed while the broker runs: of all listeners that have TLS.

What is new is read and proved by a handshake in a disk thread; whoever connects from
then on meets it, and whoever is in stays. What cannot be used changes nothing: the
current one serves on, the log and a metric say so, and the files are read again when
they have changed again.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.options.security.per_listener import SecurityOptions

from .context import make_server_tls
from .look import NOT_SEEN, look_at, settings_of
from .stores import StoreError

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.runtime.disk_threads import DiskThreads

    from .certificate import Certificate
    from .context import ServerTls
    from .identity import Identity
    from .look import Look

_EARLY_S_MAX = 60.0  # clocks differ by so much

_logger = logging.getLogger(__name__)
_audit_log = logging.getLogger("odradek.audit")


class TooEarlyError(StoreError):
    """A certificate will be valid, and is not yet."""


class Renewed(NamedTuple):
    """What became of one listener; ``failure`` says why it keeps what it had."""

    identity: Identity
    is_new: bool
    failure: str | None = None


class Renewal:
    """Keeps the certificates of some listeners current."""

    def __init__(self, disk_threads: DiskThreads) -> None:
        self.identities: list[Identity] = []
        self._disk_threads = disk_threads
        self._turn = asyncio.Lock()  # one at a time: the last one counts
        self._asked: set[asyncio.Task[list[Renewed]]] = set()

    async def look(self) -> list[Renewed]:
        """Renew where files or options have changed since they were read."""
        found = [await self._renew(each, False) for each in self.identities]
        for identity in self.identities:
            identity.warn_of_expiry()
        return [each for each in found if each is not None]

    async def renew(self) -> list[Renewed]:
        """Read everything again, changed or not."""
        found = [await self._renew(each, True) for each in self.identities]
        return [each for each in found if each is not None]

    def renew_soon(self) -> None:
        """The same, and nobody waits for it."""
        asked = asyncio.get_running_loop().create_task(
            self.renew(), name="certificates"
        )
        self._asked.add(asked)
        asked.add_done_callback(self._asked.discard)

    def follow(self, config: BrokerConfig) -> None:
        """These options hold from now on; the next look sees what they change."""
        for identity in self.identities:
            listener = identity.options.listener
            identity.options = SecurityOptions(config, listener)

    async def check(self, config: BrokerConfig) -> None:
        """See that every listener could go on with these options, which a client wants.

        Raises:
            StoreError: one could not, or its names would be others than they are
                and ``ssl.allow.dn.changes`` or ``san`` does not let them.
        """
        for identity in self.identities:
            options = SecurityOptions(config, identity.options.listener)
            if settings_of(options) == settings_of(identity.options):
                continue
            made = await self._disk_threads.run(_made, options, identity.now_s)
            _compare(identity.current.certificate, made.certificate, options)

    async def _renew(self, identity: Identity, is_asked: bool) -> Renewed | None:
        """None: there was nothing to do."""
        async with self._turn:
            options = identity.options
            seen = await self._disk_threads.run(look_at, options)
            if seen == identity.seen and not is_asked:
                return None
            run = self._disk_threads.run
            try:
                made = await run(_made, options, identity.now_s)
            except TooEarlyError as error:  # no file need change until it is valid
                return _refused(identity, str(error), NOT_SEEN)
            except StoreError as error:
                return _refused(identity, str(error), seen)
            return _taken(identity, made, seen)


def _made(options: SecurityOptions, now_s: float) -> ServerTls:
    """What handshakes will be made with.

    Raises:
        StoreError: it cannot be used, or not yet.
    """
    made = make_server_tls(options, now_s)
    begins_s = made.certificate.not_before
    if begins_s - now_s > _EARLY_S_MAX:
        begins = datetime.fromtimestamp(begins_s, UTC)
        raise TooEarlyError(
            f"{made.where}: the certificate of {made.certificate.subject} is not valid "
            f"before {begins:%Y-%m-%d %H:%M:%S} UTC"
        )
    return made


def _taken(identity: Identity, made: ServerTls, seen: Look) -> Renewed:
    before = identity.current.certificate
    is_new = identity.take(made, seen)
    if is_new:
        after = made.certificate
        lost = ", ".join(sorted(before.names - after.names))
        _audit_log.info(
            "listener %s has new keys: %s, for another %d days%s",
            identity.name,
            made.where,
            int(identity.days_left),
            f"; it is for {lost} no more" if lost else "",
            extra={
                "event": "certificate",
                "listener": identity.name,
                "subject": after.subject,
                "subjectBefore": before.subject,
            },
        )
    return Renewed(identity, is_new)


def _refused(identity: Identity, why: str, seen: Look) -> Renewed:
    if why == identity.failure:
        identity.seen = seen
        return Renewed(identity, False, why)
    identity.refuse(why, seen)
    _logger.error(
        "listener %s keeps its certificate (%d days left): %s",
        identity.name,
        int(identity.days_left),
        why,
    )
    return Renewed(identity, False, why)


def _compare(before: Certificate, after: Certificate, options: SecurityOptions) -> None:
    """Kafka's rule for who changes certificates from afar.

    Raises:
        StoreError: names differ that must not.
    """
    changes_name = before.subject != after.subject
    if changes_name and not options.get("ssl.allow.dn.changes"):
        raise StoreError(
            f"the new certificate is that of {after.subject}, and the one it would "
            f"replace that of {before.subject}: ssl.allow.dn.changes=true allows that"
        )
    lost = sorted(before.names - after.names)
    if lost and not options.get("ssl.allow.san.changes"):
        raise StoreError(
            f"the new certificate is not for {', '.join(lost)}, as the one is that it "
            "would replace: ssl.allow.san.changes=true allows that"
        )
