"""Keystores and their passwords, as the apache/kafka image is told of them.

Its variables name files in ``/etc/kafka/secrets``: keystores, and files of which each
holds the password of one, its "credentials". Passwords are read here and not by a
shell, so that they are in no environment that others see.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .options.error import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

SECRETS = "/etc/kafka/secrets"
SECRETS_VARIABLE = "ODRADEK_SECRETS_DIR"
_SIZE_MAX = 4096


class _Meaning(NamedTuple):
    """The option that a variable stands for; ``is_read``: by what is in its file."""

    option: str
    is_read: bool


VARIABLES = {
    "KAFKA_SSL_KEYSTORE_FILENAME": _Meaning("ssl.keystore.location", False),
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": _Meaning("ssl.keystore.password", True),
    "KAFKA_SSL_KEY_CREDENTIALS": _Meaning("ssl.key.password", True),
    "KAFKA_SSL_TRUSTSTORE_FILENAME": _Meaning("ssl.truststore.location", False),
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": _Meaning("ssl.truststore.password", True),
}


def of_secrets(variable: str, environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """The option and its value that one of these variables stands for.

    Nothing for an empty one.

    Raises:
        OptionError: the file is not there, or cannot be read.
    """
    name = environment[variable].strip()
    if not name:
        return []
    meaning = VARIABLES[variable]
    # As in Kafka's image a path may be given that begins there.
    path = Path(environment.get(SECRETS_VARIABLE, SECRETS)) / name
    if not meaning.is_read:
        if not path.is_file():
            raise OptionError(f"environment {variable}: there is no file {path}")
        return [(meaning.option, str(path))]
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_SIZE_MAX + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OptionError(f"environment {variable}: {path}: {reason}") from None
    except UnicodeDecodeError:
        raise OptionError(f"environment {variable}: {path}: it is no text") from None
    if len(text) > _SIZE_MAX:
        raise OptionError(f"environment {variable}: {path}: that is no password")
    return [(meaning.option, text.rstrip("\r\n"))]
