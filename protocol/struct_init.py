"""Default values of fields, and the ``__init__`` of structs, written when first used.

Most structs of a broker are never made by it, only decoded; writing all of these
functions when their classes are declared would cost a tenth of a second of a start.
"""

from typing import TYPE_CHECKING, Any

from .fields import UNSET, Field
from .primitives import NO_TAGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schema import Struct

_shared_defaults: "dict[type[Struct], Struct | None]" = {}


def first_init(self: "Struct", **values: Any) -> None:
    """Stand in for ``__init__`` until the first struct of a class is made."""
    cls: Any = type(self)
    cls.__init__ = _write_init(cls.fields)
    cls.__init__(self, **values)


def default_of(field: Field) -> object:
    """The default that structs may share, or ``UNSET``: it must be made anew.

    A struct of scalars is shared, in a form that refuses to be changed. A partition
    of a Fetch response has three that it nearly never uses; sharing saves making
    them, and comparing them field by field when encoding.
    """
    if field.default is UNSET and field.kind == "struct":
        cls = field.struct_class
        if cls not in _shared_defaults:
            _shared_defaults[cls] = _make_shared_default(cls)
        return _shared_defaults[cls] or UNSET
    return field.default


def _make_shared_default(cls: "type[Struct]") -> "Struct | None":
    """A struct of defaults that cannot be changed; None if it would hold a list."""
    if any(default_of(field) is UNSET for field in cls.fields):
        return None
    methods = {
        "__setattr__": _refuse_change,
        "declared_class": classmethod(lambda _: cls),
    }
    shared = cls()
    meta: Any = type(cls)
    shared.__class__ = meta(cls.__name__, (cls,), methods)
    return shared


def _refuse_change(self: "Struct", name: str, value: object) -> None:
    cls = self.declared_class().__name__
    raise AttributeError(f"{cls}.{name} is a shared default; assign a new {cls}")


def _write_init(fields: tuple[Field, ...]) -> "Callable[..., None]":
    names: dict[str, Any] = {"UNSET": UNSET, "NO_TAGS": NO_TAGS}
    arguments = ["self", "*"] if fields else ["self"]
    lines = []
    for number, field in enumerate(fields):
        name, default = field.name, f"default_{number}"
        names[default] = default_of(field)
        arguments.append(f"{name}={default}")
        value = name
        if names[default] is UNSET:
            maker = "[]"
            if field.kind == "struct":
                maker = f"class_{number}()"
                names[f"class_{number}"] = field.struct_class
            value = f"{maker} if {name} is UNSET else {name}"
        lines.append(f"    self.{name} = {value}\n")
    lines.append("    self.unknown_tags = NO_TAGS\n")
    exec(f"def __init__({', '.join(arguments)}):\n{''.join(lines)}", names)
    return names["__init__"]  # type: ignore[no-any-return]
