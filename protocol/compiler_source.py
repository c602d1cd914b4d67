"""What the decoder's and the encoder's writer share: source text, names, sizes."""

from struct import Struct as Layout
from struct import calcsize
from typing import TYPE_CHECKING, Any

from .primitives import FIXED_CODES

if TYPE_CHECKING:
    from .fields import Field
    from .schema import Struct

_INDENT = "    "
_layouts: dict[tuple[str, str], Any] = {}


class Source:
    """A function in the making: its lines, and the names that they use."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._lines: list[str] = []
        self._depth = 0
        self._counter = 0

    def line(self, text: str) -> None:
        """Add a line at the depth of the innermost open block."""
        self._lines.append(f"{_INDENT * self._depth}{text}\n")

    def block(self, text: str) -> "Source":
        """Add a line that opens a block, to be used in a ``with`` statement."""
        self.line(text)
        return self

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1

    def variable(self, hint: str) -> str:
        """A name for a local variable that nothing else has."""
        self._counter += 1
        return f"{hint}_{self._counter}"

    def constant(self, value: object, hint: str) -> str:
        """The name under which the function knows ``value``."""
        name = hint
        while self.names.setdefault(name, value) is not value:
            self._counter += 1
            name = f"{hint}_{self._counter}"
        return name

    def layout(self, codes: str, method: str) -> str:
        """The name of a method of the layout with ``codes``, big-endian."""
        if (codes, method) not in _layouts:
            _layouts[codes, method] = getattr(Layout(">" + codes), method)
        # "?" and "16s" cannot stand in a name.
        name = codes.replace("?", "t").replace("16s", "u")
        return self.constant(_layouts[codes, method], f"{method}_{name}")

    def text(self) -> str:
        """The source of the function."""
        return "".join(self._lines)


def size_min(field: "Field", version: int, *, flexible: bool) -> int:
    """The fewest bytes that a value of ``field`` takes."""
    if field.kind in FIXED_CODES:
        return calcsize(">" + FIXED_CODES[field.kind])
    if field.kind == "struct":
        if field.nullable.cover(version):
            return 1
        return struct_size_min(field.struct_class, version, flexible=flexible)
    if flexible:
        return 1
    return 2 if field.kind == "string" else 4


def struct_size_min(cls: "type[Struct]", version: int, *, flexible: bool) -> int:
    """The fewest bytes that a struct takes; its tagged fields may all be left out."""
    return int(flexible) + sum(
        size_min(field, version, flexible=flexible)
        for field in cls.fields
        if field.tag is None and field.versions.cover(version)
    )
