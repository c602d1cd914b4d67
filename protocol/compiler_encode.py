"""Writes the function that encodes one message of one version.

The fields of fixed size that follow each other are packed in one call. Records leave
as buffers of their own, between the pieces of the rest, so that they are never copied.
A tagged field is left out when it has its default value, and all tagged fields of a
struct, the unknown ones too, are written with their tags rising.
"""

from struct import pack
from typing import TYPE_CHECKING

from .compiler_source import Source
from .fields import UNSET
from .primitives import FIXED_CODES, unsigned_varint, write_tags
from .struct_init import default_of

if TYPE_CHECKING:
    from .fields import Field
    from .schema import Message, Struct

_NULL_LENGTHS = {"h": b"\xff\xff", "i": b"\xff\xff\xff\xff"}


def write_encoder(cls: "type[Message]", version: int) -> Source:
    """The source of ``encode(message)``, which returns a list of buffers."""
    return _EncoderWriter(version, flexible=cls.is_flexible(version)).write(cls)


class _EncoderWriter:
    """Writes the encoder of one message.

    ``_run`` holds what the next ``pack`` has to write: expressions and codes.
    """

    def __init__(self, version: int, *, flexible: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._run: list[tuple[str, str]] = []
        self._is_in_tag = False
        self._source = Source()
        self._source.names |= {
            "pack": pack,
            "varint": unsigned_varint,
            "write_tags": write_tags,
        }

    def write(self, cls: "type[Message]") -> Source:
        source = self._source
        with source.block("def encode(message):"):
            source.line("buffers = []")
            source.line("out = bytearray()")
            self._struct(cls, "message")
            with source.block("if out or not buffers:"):
                source.line("buffers.append(out)")
            source.line("return buffers")
        return source

    def _struct(self, cls: "type[Struct]", struct: str) -> None:
        """Write the writing of the struct that the variable ``struct`` holds."""
        fields = [field for field in cls.fields if field.versions.cover(self._version)]
        for field in fields:
            if field.tag is None:
                self._value(field, f"{struct}.{field.name}")
        self._flush()
        if self._flexible:
            self._tags(struct, [field for field in fields if field.tag is not None])

    def _value(self, field: "Field", value: str) -> None:
        """Write the writing of ``value``."""
        if field.kind in FIXED_CODES:
            self._run.append((value, FIXED_CODES[field.kind]))
        elif field.kind == "array":
            self._array(field, value)
        elif field.kind == "struct":
            self._nested_struct(field, value)
        else:
            self._bytes(field, value)

    def _flush(self) -> None:
        """Write the writing of the run."""
        if not self._run:
            return
        codes = "".join(code for _, code in self._run)
        values = ", ".join(value for value, _ in self._run)
        self._run.clear()
        packer = self._source.layout(codes, "pack")
        self._source.line(f"out += {packer}({values})")

    def _length(self, value: str, code: str) -> None:
        """Write the writing of the length of ``value``, which is not null."""
        source = self._source
        if not self._flexible:
            self._run.append((f"len({value})", code))
            self._flush()
            return
        self._flush()
        length = source.variable("length")
        source.line(f"{length} = len({value}) + 1")
        with source.block(f"if {length} < 128:"):
            source.line(f"out.append({length})")
        with source.block("else:"):
            source.line(f"out += varint({length})")

    def _null(self, code: str) -> None:
        """Write the writing of a null."""
        if self._flexible:
            self._source.line("out.append(0)")
        else:
            self._source.line(f"out += {_NULL_LENGTHS[code]!r}")

    def _bytes(self, field: "Field", value: str) -> None:
        """Write the writing of a string, of bytes, or of records."""
        source = self._source
        code = "h" if field.kind == "string" else "i"
        item = source.variable("item")
        encode = ".encode()" if field.kind == "string" else ""
        if not field.nullable.cover(self._version):
            source.line(f"{item} = {value}{encode}")
            self._content(field, item, code)
            return
        source.line(f"{item} = {value}")
        self._flush()
        with source.block(f"if {item} is None:"):
            self._null(code)
        with source.block("else:"):
            if encode:
                source.line(f"{item} = {item}{encode}")
            self._content(field, item, code)

    def _content(self, field: "Field", item: str, code: str) -> None:
        """Write the writing of bytes that are not null, after their length."""
        source = self._source
        self._length(item, code)
        if field.kind != "records":
            source.line(f"out += {item}")
            return
        if self._is_in_tag:
            raise TypeError(f"{field}: records inside a tagged field")
        with source.block(f"if {item}:"):
            source.line("buffers.append(out)")
            source.line(f"buffers.append({item})")
            source.line("out = bytearray()")

    def _nested_struct(self, field: "Field", value: str) -> None:
        """Write the writing of a struct; one that may be null has a marker."""
        source = self._source
        item = source.variable("struct")
        self._flush()
        source.line(f"{item} = {value}")
        if not field.nullable.cover(self._version):
            self._struct(field.struct_class, item)
            return
        with source.block(f"if {item} is None:"):
            # Kafka marks a null with -1, but with 0 where the struct is a tagged field.
            null = 255 if field.tag is None else 0
            source.line(f"out.append({null})")
        with source.block("else:"):
            source.line("out.append(1)")
            self._struct(field.struct_class, item)

    def _array(self, field: "Field", value: str) -> None:
        """Write the writing of an array."""
        source = self._source
        items = source.variable("items")
        source.line(f"{items} = {value}")
        if not field.nullable.cover(self._version):
            self._elements(field, items)
            return
        self._flush()
        with source.block(f"if {items} is None:"):
            self._null("i")
        with source.block("else:"):
            self._elements(field, items)

    def _elements(self, field: "Field", items: str) -> None:
        """Write the writing of the length and the elements of a list."""
        source = self._source
        element = field.element
        self._length(items, "i")
        if element.kind in FIXED_CODES and element.kind != "uuid":
            code = FIXED_CODES[element.kind]
            # One call each is faster for up to five, as the replicas of a partition.
            with source.block(f"if len({items}) < 6:"):
                self._each(element, items)
            with source.block("else:"):
                source.line(f'out += pack(f">{{len({items})}}{code}", *{items})')
            return
        self._each(element, items)

    def _each(self, element: "Field", items: str) -> None:
        """Write the loop that writes the elements of a list."""
        source = self._source
        item = source.variable("item")
        with source.block(f"for {item} in {items}:"):
            if element.kind == "struct":
                self._struct(element.struct_class, item)
            else:
                self._value(element, item)
                self._flush()

    def _tags(self, struct: str, tagged: "list[Field]") -> None:
        """Write the writing of the tagged fields; nearly always there are none."""
        source = self._source
        tests = [f"not {struct}.unknown_tags"]
        tests += [
            self._has_default(field, f"{struct}.{field.name}") for field in tagged
        ]
        with source.block(f"if {' and '.join(tests)}:"):
            source.line("out.append(0)")
        with source.block("else:"):
            if tagged:
                self._known_tags(struct, tagged)
            else:
                source.line(f"write_tags(out, {struct}.unknown_tags)")

    def _known_tags(self, struct: str, tagged: "list[Field]") -> None:
        """Write the writing of the tagged fields that differ from their defaults."""
        source = self._source
        outer, tags = source.variable("outer"), source.variable("tags")
        outermost, self._is_in_tag = not self._is_in_tag, True
        source.line(f"{outer} = out")
        source.line(f"{tags} = dict({struct}.unknown_tags)")
        for field in tagged:
            value = f"{struct}.{field.name}"
            with source.block(f"if not ({self._has_default(field, value)}):"):
                source.line(f"{tags}[{field.tag}] = out = bytearray()")
                self._value(field, value)
                self._flush()
        source.line(f"out = {outer}")
        source.line(f"write_tags(out, {tags})")
        self._is_in_tag = not outermost

    def _has_default(self, field: "Field", value: str) -> str:
        """The expression that says whether ``value`` is the default of ``field``."""
        default = default_of(field)
        if default is None:
            return f"{value} is None"
        if default is UNSET and field.kind == "array":
            return f"{value} == []"
        if default is UNSET:
            default = field.struct_class()
        if type(default) in (int, bool, str):
            return f"{value} == {default!r}"
        name = self._source.constant(default, f"default_{field.name}")
        if field.kind != "struct":
            return f"{value} == {name}"
        # Most often it is the shared default itself.
        return f"({value} is {name} or {value} == {name})"
