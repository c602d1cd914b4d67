"""Each kind of client, and what to paste into it.

The secrets are not in what is shown: it names the files that have them.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from .client import MECHANISM, TOPIC
from .option_files import as_properties, java_options, librdkafka_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .client import Client

_HIDDEN = "..."


class Snippet(NamedTuple):
    """For whom it is, and where it is pasted."""

    client: str
    place: str
    text: str


def snippets(client: Client) -> list[Snippet]:
    """One for each kind of client."""
    return [
        Snippet(name, place, make(client)) for name, (place, make) in _KINDS.items()
    ]


def _kafka_python(client: Client) -> str:
    options = [
        ("bootstrap_servers", repr(client.bootstrap)),
        ("security_protocol", repr(client.protocol)),
        ("ssl_cafile", repr(str(client.ca))),
    ]
    if client.certificate is not None:
        options.append(("ssl_certfile", repr(str(client.certificate))))
        options.append(("ssl_keyfile", repr(str(client.certificate))))
    return _python(
        client,
        ["from kafka import KafkaProducer"],
        [*options, *_python_login(client)],
        [
            "producer = KafkaProducer(**options)",
            f"print(producer.send({TOPIC!r}, b'from kafka-python').get())",
            "producer.close()",
        ],
    )


def _aiokafka(client: Client) -> str:
    trusted = [f"cafile={str(client.ca)!r}"]
    if client.certificate is not None:
        trusted.append(f"certfile={str(client.certificate)!r}")
        trusted.append(f"keyfile={str(client.certificate)!r}")
    return _python(
        client,
        [
            "import asyncio",
            "",
            "from aiokafka import AIOKafkaProducer",
            "from aiokafka.helpers import create_ssl_context",
        ],
        [
            ("bootstrap_servers", repr(client.bootstrap)),
            ("security_protocol", repr(client.protocol)),
            ("ssl_context", f"create_ssl_context({', '.join(trusted)})"),
            *_python_login(client),
        ],
        [
            "async def main():",
            "    async with AIOKafkaProducer(**options) as producer:",
            f"        print(await producer.send_and_wait({TOPIC!r}, b'from aiokafka'))",
            "",
            "asyncio.run(main())",
        ],
    )


def _confluent(client: Client) -> str:
    options = librdkafka_options(client, "")
    lines = [
        f"    {name!r}: {'password' if name == 'sasl.password' else repr(value)},"
        for name, value in options
    ]
    told = f"print({TOPIC!r}, error or message.offset())"
    return "\n".join(
        [
            "from confluent_kafka import Producer",
            "",
            *_python_password(client),
            "options = {",
            *lines,
            "}",
            "producer = Producer(options)",
            f"producer.produce({TOPIC!r}, b'from confluent-kafka',",
            f"                 callback=lambda error, message: {told})",
            "producer.flush()",
        ]
    )


def _kcat(client: Client) -> str:
    if client.librdkafka_file is not None:
        given = f"-F {_word(client.librdkafka_file)}"
    else:
        options = librdkafka_options(client, _HIDDEN)
        given = " ".join(f"-X {_word(f'{name}={value}')}" for name, value in options)
    return f"echo 'from kcat' | kcat {given} -P -t {TOPIC}"


def _java(client: Client) -> str:
    if client.java_file is None:
        return as_properties(java_options(client, _HIDDEN)).rstrip("\n")
    file = _word(client.java_file)
    return "\n".join(
        [
            "# A program loads the file: properties.load(new FileInputStream("
            f'"{client.java_file}"));',
            f"echo 'from Java' | kafka-console-producer.sh --bootstrap-server"
            f" {client.bootstrap} --command-config {file} --topic {TOPIC}",
        ]
    )


def _spark(client: Client) -> str:
    options = [
        (f"kafka.{name}", value)
        for name, value in java_options(client, "{password}")
        if name != "sasl.jaas.config"
    ]
    lines = [f"    .option({name!r}, {value!r})" for name, value in options]
    if client.user:
        lines.append('    .option("kafka.sasl.jaas.config", login)')
    lines.append(f"    .option('subscribe', {TOPIC!r})")
    login = java_options(client, "{password}")[-1][1] if client.user else ""
    return "\n".join(
        [
            *_python_password(client),
            *([f"login = {login!r}.replace('{{password}}', password)"] * bool(login)),
            "stream = (",
            "    spark.readStream.format('odradek')  # or 'kafka'",
            *lines,
            "    .load()",
            ")",
        ]
    )


def _own(client: Client) -> str:
    if client.java_file is not None:
        file = _word(client.java_file)
        return (
            f"echo 'from odradek' | odradek produce {TOPIC} --command-config {file}\n"
            f"odradek consume {TOPIC} -e --command-config {file}"
        )
    return as_properties(librdkafka_options(client, _HIDDEN)).rstrip("\n")


def _python(
    client: Client,
    imports: Iterable[str],
    options: Iterable[tuple[str, str]],
    then: Iterable[str],
) -> str:
    lines = [f"    {name}={value}," for name, value in options]
    parts = [*imports, "", *_python_password(client), "options = dict(", *lines, ")"]
    return "\n".join([*parts, *then])


def _python_password(client: Client) -> list[str]:
    if client.password_file is None:
        return []
    path = str(client.password_file)
    return [f"password = open({path!r}).readline().rstrip('\\n')"]


def _python_login(client: Client) -> list[tuple[str, str]]:
    if not client.user:
        return []
    return [
        ("sasl_mechanism", repr(MECHANISM)),
        ("sasl_plain_username", repr(client.user)),
        ("sasl_plain_password", "password"),
    ]


def _word(value: object) -> str:
    return shlex.quote(str(value))


_PYTHON, _SHELL = "Python", "a shell"
_KINDS: dict[str, tuple[str, Callable[[Client], str]]] = {
    "kafka-python": (_PYTHON, _kafka_python),
    "aiokafka": (_PYTHON, _aiokafka),
    "confluent-kafka": (_PYTHON, _confluent),
    "kcat": (_SHELL, _kcat),
    "java": ("a shell, or a program", _java),
    "spark": (_PYTHON, _spark),
    "odradek": (_SHELL, _own),
}
CLIENTS = tuple(_KINDS)


def as_text(found: Iterable[Snippet]) -> str:
    """All of them, each below its name."""
    return "\n\n".join(f"# {each.client}: {each.place}\n{each.text}" for each in found)
