"""What a group may have of its own is bounded; the broker's own values keep to it."""

from collections.abc import Iterable

from .error import OptionError


def check_group_bounds(options: object, group_type: str, names: Iterable[str]) -> None:
    """See that these options of one type of group are within the bounds beside them.

    And that its members are to be heard more than once in a session.

    Raises:
        OptionError: they are not.
    """
    prefix = f"group.{group_type}."
    for name in names:
        value = _value(options, prefix + name)
        least = _value(options, f"{prefix}min.{name}")
        most = _value(options, f"{prefix}max.{name}")
        if not least <= value <= most:
            raise OptionError(
                f"{prefix}{name} must be between {prefix}min.{name} ({least}) "
                f"and {prefix}max.{name} ({most})"
            )
    heartbeat, session = f"{prefix}heartbeat.interval.ms", f"{prefix}session.timeout.ms"
    if _value(options, heartbeat) >= _value(options, session):
        raise OptionError(f"{heartbeat} must be less than {session}")


def _value(options: object, name: str) -> int:
    return int(getattr(options, name.replace(".", "_")))
