"""A distinguished name as Java prints it, which is what ACLs and mapping rules know.

RFC 2253: the last part first, separated by commas; a few types by their keyword, all
others as numbers with the value in hex. ``getpeercert()`` of the standard library does
not keep what this needs, so the name is read from the certificate itself.

    CN=Alice\\, A.,OU=Orders,O=Example,C=NO
    2.5.4.5=#130130,CN=x
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .der import DerError, object_identifier

if TYPE_CHECKING:
    from .der import Value

SIZE_MAX: Final = 4096  # of the text, in characters

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
# UTF8, Printable, T61, IA5, General and BMP strings.
_TEXT_TAGS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
_ESCAPED = frozenset(',=+<>#;"\\')


def distinguished_name(name: Value) -> str:
    """The text of a ``Name`` of a certificate; empty for one without parts.

    Raises:
        DerError: it is none, or longer than `SIZE_MAX`.
    """
    parts = [
        "+".join(_attribute(each) for each in part.inside()) for part in name.inside()
    ]
    text = ",".join(reversed(parts))
    if len(text) > SIZE_MAX:
        raise DerError(f"a distinguished name of {len(text)} characters")
    return text


def _attribute(attribute: Value) -> str:
    """``type=value`` of one attribute."""
    pair = attribute.inside()
    if len(pair) != 2:
        raise DerError("an attribute is a type and a value")
    kind, value = pair
    number = object_identifier(kind.content)
    keyword = _KEYWORDS.get(number)
    if keyword is None or value.tag not in _TEXT_TAGS:
        return f"{keyword or number}=#{value.encoded.hex()}"
    return f"{keyword}={_escaped(value.content.decode(errors='replace'))}"


def _escaped(text: str) -> str:
    text = "".join(
        "\\" + each if each in _ESCAPED else "\\00" if each == "\0" else each
        for each in text
    )
    inner = text.strip(" \r")
    before = len(text) - len(text.lstrip(" \r"))
    lead, trail = text[:before], text[before + len(inner) :]
    return _each_escaped(lead) + inner + _each_escaped(trail)


def _each_escaped(blanks: str) -> str:
    return "".join("\\" + each for each in blanks)
