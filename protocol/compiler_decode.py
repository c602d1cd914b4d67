"""Writes the function that decodes one message of one version.

What the function is made of:

- The fields of fixed size that follow each other are one run, unpacked straight into
  the slots of the struct. The length that a string or an array begins with, and the
  count of a struct's tagged fields, close the run before them.
- A length is compared with the bytes that remain before anything is made of it, and
  the length of an array with what that many of its smallest elements would take.
- Array elements and unknown tags count against one limit for the whole message.
- The end of the data needs no test of its own for fixed sizes: ``struct`` and the
  index of a byte raise, and one ``except`` around the function, which costs nothing,
  turns that into ``MalformedRequest``.
"""

from struct import calcsize, unpack_from
from struct import error as struct_error
from typing import TYPE_CHECKING

from .compiler_source import Source, size_min
from .fields import UNSET
from .kafka_error import MalformedRequest, TooManyObjects
from .primitives import FIXED_CODES, NO_TAGS, Buffer, read_unsigned_varint
from .struct_init import default_of

if TYPE_CHECKING:
    from .fields import Field
    from .schema import Message, Struct

# The longest string in any version (Kafka refuses longer ones in flexible versions
# too, where the format would allow them).
STRING_SIZE_MAX = 32767


def read_string_length(data: Buffer, position: int) -> tuple[int, int]:
    """The length of a compact string, plus 1, and the position behind it."""
    length, position = read_unsigned_varint(data, position)
    if length > STRING_SIZE_MAX + 1:
        raise MalformedRequest(f"string of {length - 1} bytes")
    return length, position


def read_tags(
    data: memoryview, position: int, count_max: int
) -> tuple[dict[int, bytes], int]:
    """The tagged fields of a struct that knows none, and the position behind them."""
    tags = {}
    count, position = read_unsigned_varint(data, position)
    if count > count_max:
        raise TooManyObjects(f"{count} tagged fields")
    for _ in range(count):
        tag, position = read_unsigned_varint(data, position)
        size, position = read_unsigned_varint(data, position)
        if size > len(data) - position:
            raise MalformedRequest(f"tag {tag} of {size} bytes, beyond the end")
        tags[tag] = bytes(data[position : position + size])
        position += size
    return tags, position


def write_decoder(cls: "type[Message]", version: int, object_count_max: int) -> Source:
    """The source of ``decode(data, position)``, which returns message and position."""
    writer = _DecoderWriter(version, flexible=cls.is_flexible(version))
    return writer.write(cls, object_count_max)


class _DecoderWriter:
    """Writes the decoder of one message.

    ``_run`` holds what the next ``unpack_from`` has to read: targets and codes.
    """

    def __init__(self, version: int, *, flexible: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._run: list[tuple[str, str]] = []
        self._source = Source()
        self._source.names |= {
            "new": object.__new__,
            "varint": read_unsigned_varint,
            "string_length": read_string_length,
            "read_tags": read_tags,
            "unpack_from": unpack_from,
            "Garbled": (IndexError, struct_error, UnicodeDecodeError),
            "MalformedRequest": MalformedRequest,
            "TooManyObjects": TooManyObjects,
            "NO_TAGS": NO_TAGS,
        }

    def write(self, cls: "type[Message]", object_count_max: int) -> Source:
        source = self._source
        with source.block("def decode(data, position):"):
            source.line("end = len(data)")
            source.line(f"objects = {object_count_max}")
            with source.block("try:"):
                message = self._struct(cls)
                source.line(f"return {message}, position")
            with source.block("except Garbled as error:"):
                text = f"{cls.__name__} v{self._version}"
                source.line(f'raise MalformedRequest(f"{text}: {{error}}") from error')
        return source

    def _struct(self, cls: "type[Struct]") -> str:
        """Write the reading of a struct; return the variable that holds it."""
        struct = self._source.variable("struct")
        self._source.line(f"{struct} = new({self._source.constant(cls, cls.__name__)})")
        tagged = []
        for field in cls.fields:
            target = f"{struct}.{field.name}"
            if field.versions.cover(self._version) and field.tag is None:
                self._value(field, target, str(field))
            else:
                self._source.line(f"{target} = {self._default(field)}")
                if field.versions.cover(self._version):
                    tagged.append(field)
        if self._flexible:
            self._tags(struct, tagged)
        else:
            self._flush()
            self._source.line(f"{struct}.unknown_tags = NO_TAGS")
        return struct

    def _default(self, field: "Field") -> str:
        """The expression of the default value."""
        default = default_of(field)
        if default is UNSET:
            if field.kind == "array":
                return "[]"
            cls = field.struct_class
            return self._source.constant(cls, cls.__name__) + "()"
        if default is None or type(default) in (int, bool, str):
            return repr(default)
        return self._source.constant(default, f"default_{field.name}")

    def _value(self, field: "Field", target: str, label: str) -> None:
        """Write the reading of a value into ``target``."""
        if field.kind in FIXED_CODES:
            self._run.append((target, FIXED_CODES[field.kind]))
        elif field.kind == "array":
            self._array(field, target, label)
        elif field.kind == "struct":
            self._nested_struct(field, target)
        else:
            self._bytes(field, target, label)

    def _flush(self) -> None:
        """Write the reading of the run."""
        if not self._run:
            return
        codes = "".join(code for _, code in self._run)
        targets = "".join(f"{target}, " for target, _ in self._run)
        self._run.clear()
        if codes == "B":
            self._source.line(f"{targets[:-2]} = data[position]")
        else:
            unpack = self._source.layout(codes, "unpack_from")
            self._source.line(f"{targets.rstrip()} = {unpack}(data, position)")
        self._source.line(f"position += {calcsize('>' + codes)}")

    def _length(self, code: str, read_long: str = "varint") -> str:
        """Write the reading of a length; return its variable.

        In a flexible version it is one more than the length, and null is 0;
        otherwise null is negative, and ``code`` is the kind of number.
        """
        length = self._source.variable("length")
        self._run.append((length, "B" if self._flexible else code))
        self._flush()
        if self._flexible:
            with self._source.block(f"if {length} > 127:"):
                self._source.line(
                    f"{length}, position = {read_long}(data, position - 1)"
                )
        return length

    def _records_length(self) -> str:
        """Like ``_length``; two bytes, as small batches have, take no call: 0.3 µs."""
        source = self._source
        length = source.variable("length")
        self._run.append((length, "B" if self._flexible else "i"))
        self._flush()
        if self._flexible:
            with source.block(f"if {length} > 127:"):
                with source.block("if data[position] < 128:"):
                    source.line(f"{length} += (data[position] - 1) << 7")
                    source.line("position += 1")
                with source.block("else:"):
                    source.line(f"{length}, position = varint(data, position - 1)")
        return length

    def _bytes(self, field: "Field", target: str, label: str) -> None:
        """Write the reading of a string, of bytes, or of records."""
        source = self._source
        if field.kind == "string":
            length, value = self._length("h", "string_length"), 'str({}, "utf-8")'
        else:
            is_long = field.kind == "records"
            length = self._records_length() if is_long else self._length("i")
            value = "{}"
        stop = source.variable("stop")
        read = [
            f"{target} = {value.format(f'data[position:{stop}]')}",
            f"position = {stop}",
        ]
        fail = f'raise MalformedRequest(f"{label}: length {{{length}}}")'
        if self._flexible:
            stop_line, is_null = f"{stop} = position + {length} - 1", f"{length} == 0"
        else:
            stop_line, is_null = f"{stop} = position + {length}", f"{length} < 0"
        if not field.nullable.cover(self._version):
            source.line(stop_line)
            with source.block(f"if not position <= {stop} <= end:"):
                source.line(fail)
            for line in read:
                source.line(line)
            return
        with source.block(f"if {is_null}:"):
            source.line(f"{target} = None")
        with source.block("else:"):
            source.line(stop_line)
            with source.block(f"if {stop} > end:"):
                source.line(fail)
            for line in read:
                source.line(line)

    def _nested_struct(self, field: "Field", target: str) -> None:
        """Write the reading of a struct; one that may be null has a marker."""
        source = self._source
        if not field.nullable.cover(self._version):
            source.line(f"{target} = {self._struct(field.struct_class)}")
            return
        marker = source.variable("marker")
        self._run.append((marker, "b"))
        self._flush()
        null = "< 0" if field.tag is None else "<= 0"  # see the encoder
        with source.block(f"if {marker} {null}:"):
            source.line(f"{target} = None")
        with source.block("else:"):
            source.line(f"{target} = {self._struct(field.struct_class)}")

    def _array(self, field: "Field", target: str, label: str) -> None:
        """Write the reading of an array, after its length is known to be possible."""
        source = self._source
        count = self._length("i")
        if self._flexible:
            source.line(f"{count} -= 1")
        element = field.element
        # An element of no bytes would make any count possible: call it one.
        size = max(1, size_min(element, self._version, flexible=self._flexible))
        room = "end - position" if size == 1 else f"(end - position) // {size}"
        if field.nullable.cover(self._version):
            with source.block(f"if {count} < 0:"):
                source.line(f"{target} = None")
            test = f"elif {count} > {room}:"
        else:
            test = f"if not 0 <= {count} <= {room}:"
        with source.block(test):
            source.line(f'raise MalformedRequest(f"{label}: {{{count}}} elements")')
        if not field.nullable.cover(self._version):
            self._elements(element, target, count, label)
            return
        with source.block("else:"):
            self._elements(element, target, count, label)

    def _elements(self, element: "Field", target: str, count: str, label: str) -> None:
        """Write the reading of ``count`` elements into a list."""
        source = self._source
        source.line(f"objects -= {count}")
        with source.block("if objects < 0:"):
            source.line(f'raise TooManyObjects("{label}: too many elements")')
        if element.kind in FIXED_CODES and element.kind != "uuid":
            code = FIXED_CODES[element.kind]
            unpack = f'unpack_from(f">{{{count}}}{code}", data, position)'
            source.line(f"{target} = [*{unpack}]")
            source.line(f"position += {count} * {calcsize('>' + code)}")
            return
        items = source.variable("items")
        source.line(f"{target} = {items} = []")
        with source.block(f"for _ in range({count}):"):
            if element.kind == "struct":
                item = self._struct(element.struct_class)
            else:
                item = source.variable("item")
                self._value(element, item, label)
                self._flush()
            source.line(f"{items}.append({item})")

    def _tags(self, struct: str, tagged: "list[Field]") -> None:
        """Write the reading of the tagged fields, known and unknown."""
        source = self._source
        count = source.variable("tags")
        self._run.append((count, "B"))
        self._flush()
        source.line(f"{struct}.unknown_tags = NO_TAGS")
        with source.block(f"if {count}:"):
            if tagged:
                self._known_tags(struct, tagged, count)
                return
            source.line(
                f"{struct}.unknown_tags, position = "
                "read_tags(data, position - 1, objects)"
            )
            source.line(f"objects -= len({struct}.unknown_tags)")

    def _known_tags(self, struct: str, tagged: "list[Field]", count: str) -> None:
        """Write the reading of tagged fields of which some have a meaning."""
        source = self._source
        tag, stop, unknown = (
            source.variable(hint) for hint in ("tag", "stop", "unknown")
        )
        source.line(f"{count}, position = varint(data, position - 1)")
        source.line(f"objects -= {count}")
        with source.block("if objects < 0:"):
            source.line('raise TooManyObjects("too many tagged fields")')
        source.line(f"{unknown} = {{}}")
        with source.block(f"for _ in range({count}):"):
            source.line(f"{tag}, position = varint(data, position)")
            source.line(f"{stop}, position = varint(data, position)")
            source.line(f"{stop} += position")
            with source.block(f"if {stop} > end:"):
                source.line(f'raise MalformedRequest(f"tag {{{tag}}}: beyond the end")')
            for number, field in enumerate(tagged):
                word = "elif" if number else "if"
                with source.block(f"{word} {tag} == {field.tag}:"):
                    self._value(field, f"{struct}.{field.name}", str(field))
                    self._flush()
                    with source.block(f"if position != {stop}:"):
                        source.line(f'raise MalformedRequest("{field}: wrong size")')
            with source.block("else:"):
                source.line(f"{unknown}[{tag}] = bytes(data[position:{stop}])")
                source.line(f"position = {stop}")
        with source.block(f"if {unknown}:"):
            source.line(f"{struct}.unknown_tags = {unknown}")
