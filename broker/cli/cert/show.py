"""``odradek cert show``: what certificates say, of a file or of a listener."""

from __future__ import annotations

import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.broker.security.certificates.certificate import (
    Certificate,
    issuer_of,
    parse_certificate,
)
from odradek.broker.security.certificates.der import DerError
from odradek.client.address import Address, parse_addresses
from odradek.client.errors import TlsFailed
from odradek.client.shown_chain import shown_chain
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser, json_argument, seconds
from odradek.terminal.table import printable

from .folder import refused

if TYPE_CHECKING:
    import argparse

_COMMAND = "cert show"
_DAY_S = 86_400
_EXAMPLES = (
    "odradek cert show secure/server.pem",
    "odradek cert show kafka.example.com:9093",
)
_END = "-----END CERTIFICATE-----"
_BEGIN = "-----BEGIN CERTIFICATE-----"


class _Shown(NamedTuple):
    """A certificate with who issued it."""

    certificate: Certificate
    issuer: str


class _Unreadable(Exception):
    """There is no certificate to show; says why."""


def command(arguments: list[str]) -> int:
    """Show the certificates of a file, or of a listener."""
    parser = Parser(
        _COMMAND,
        "Show the certificates in a file of PEM, or those that a listener shows its"
        " clients: whose they are, for which names, how long they are good, and"
        " whether each is issued by the next.",
        _EXAMPLES,
    )
    parser.add_argument("what", metavar="FILE|HOST:PORT")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default="5s",
        metavar="TIME",
        help="how long to wait for a listener (default: 5s)",
    )
    json_argument(parser, "one JSON object a line")
    options = parser.parse(arguments)
    try:
        found = [_read(encoded) for encoded in _certificates(options)]
    except _Unreadable as error:
        return fail(_COMMAND, FAILED, error, what=options.what)
    except OSError as error:
        return fail(_COMMAND, FAILED, refused(error))
    now_s = time.time()
    for place, shown in enumerate(found):
        if options.json:
            print_json(_as_json(shown))
        else:
            print("\n".join(map(printable, _lines(found, place, now_s))))
    return 0


def _certificates(options: argparse.Namespace) -> list[bytes]:
    path = Path(options.what)
    address = _address(options.what)
    if address is None or path.exists():
        return _of_file(path)
    try:
        return shown_chain(address, options.timeout)
    except TlsFailed as error:
        raise _Unreadable(str(error)) from None
    except OSError as error:
        raise _Unreadable(error.strerror or str(error) or "no answer") from None


def _address(text: str) -> Address | None:
    """The listener that is meant; None: a file."""
    if not text.rpartition(":")[2].isdigit():
        return None
    try:
        (address,) = parse_addresses(text)
    except ValueError:
        return None
    return address


def _of_file(path: Path) -> list[bytes]:
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        raise _Unreadable("it is no PEM: there is no text in it") from None
    parts = [part.partition(_BEGIN) for part in text.split(_END)[:-1]]
    found = [f"{begin}{body}{_END}" for _, begin, body in parts if begin]
    if not found:
        raise _Unreadable("there is no certificate in it")
    try:
        return [ssl.PEM_cert_to_DER_cert(each) for each in found]
    except ValueError:
        raise _Unreadable("a certificate in it is damaged") from None


def _read(encoded: bytes) -> _Shown:
    try:
        return _Shown(parse_certificate(encoded), issuer_of(encoded))
    except DerError as error:
        raise _Unreadable(f"a certificate in it is damaged: {error}") from None


def _lines(found: list[_Shown], place: int, now_s: float) -> list[str]:
    certificate, issuer = found[place]
    names = ", ".join(sorted(certificate.names)) or "none"
    return [
        f"subject  {certificate.subject}",
        f"  names  {names}",
        f"  good   {_day(certificate.not_before)} to {_day(certificate.not_after)}"
        f" ({_left(certificate, now_s)})",
        f"  issuer {issuer} ({_link(found, place)})",
    ]


def _link(found: list[_Shown], place: int) -> str:
    """How a certificate goes on to the next."""
    certificate, issuer = found[place]
    if issuer == certificate.subject:
        return "itself: a CA, or nobody whom others know"
    if place + 1 == len(found):
        return "not shown here: who connects has to have it"
    if found[place + 1].certificate.subject == issuer:
        return "the next one"
    return "not the next one: the chain is broken"


def _left(certificate: Certificate, now_s: float) -> str:
    if now_s < certificate.not_before:
        return "not yet"
    days = int((certificate.not_after - now_s) // _DAY_S)
    return f"{days} days left" if days >= 0 else f"expired {-days} days ago"


def _day(moment_s: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment_s))


def _as_json(shown: _Shown) -> dict[str, object]:
    certificate = shown.certificate
    return {
        "subject": certificate.subject,
        "issuer": shown.issuer,
        "names": sorted(certificate.names),
        "not_before": int(certificate.not_before),
        "not_after": int(certificate.not_after),
    }
