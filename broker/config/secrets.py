"""Which options nobody is shown the value of, ours and those of Apache Kafka.

Also where nothing else of them is known: in options that are refused, in requests that
are recorded.
"""

from odradek.terminal.spelling import did_you_mean

from .options.broker_config import ALIASES, OPTIONS
from .options.foreign_table import foreign_table
from .options.option import Option

HIDDEN = "[hidden]"
# Of other programs, in files of options that many share.
_WORDS = ("password", "secret", "jaas", "credential", "private")


def is_secret(name: str) -> bool:
    """Whether the value of an option is a secret, also with a listener in front."""
    parts = name.split(".")
    for start in range(len(parts)):
        known = _find(".".join(parts[start:]))
        if known is not None:
            return known.is_sensitive
    return any(word in name.lower() for word in _WORDS) or _is_misspelt_secret(name)


def _is_misspelt_secret(name: str) -> bool:
    """Whether one of them was meant, most likely: ``ssl.keystore.pasword``."""
    meant = did_you_mean(name, OPTIONS)
    return meant is not None and OPTIONS[meant][1].is_sensitive


def shown(name: str, value: str | None) -> str | None:
    """The value of an option, as far as it can be shown."""
    return HIDDEN if value and is_secret(name) else value


def _find(name: str) -> Option | None:
    name = ALIASES.get(name, name)
    return OPTIONS[name][1] if name in OPTIONS else foreign_table().get(name)
