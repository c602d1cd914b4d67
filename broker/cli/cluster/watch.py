"""``odradek cluster watch``: what changes in a cluster, as controllers decide it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.cli.arguments.brokers import addresses
from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    print_json,
)
from odradek.terminal.table import printable

from .failures import said

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from odradek.broker.quorum.image.changes import Change
    from odradek.broker.quorum.image.image import MetadataImage

_COMMAND = "cluster watch"
_EXAMPLES = (
    "odradek cluster watch --bootstrap-controller controller-1:9093",
    "odradek cluster watch --bootstrap-controller controller-1:9093 -n 1 --json",
)
_WORDS = {
    "features": "feature",
    "controllers": "controller",
    "brokers": "broker",
    "topics": "topic",
    "partitions": "partition",
    "options": "options",
    "quotas": "quotas",
    "credentials": "credential",
    "acls": "acl",
    "tokens": "token",
}
_HIDDEN = ("credentials", "tokens")  # what they are is nobody's business


def command(arguments: list[str]) -> int:
    """Show what changes in a cluster of Apache Kafka, until it is interrupted."""
    parser = cluster_parser(
        _COMMAND,
        "Show what the controllers of an Apache Kafka decide, while they do: brokers"
        " that come, are fenced or go, leaders, replicas in sync, topics, options,"
        " features, users and rights. It reads their metadata log, and says what is"
        " different from the state that it found.",
        _EXAMPLES,
    )
    parser.named.add_argument(
        "--bootstrap-controller",
        type=addresses,
        metavar="HOST:PORT",
        help="the controller to ask, or several with commas",
    )
    parser.add_argument(
        "-n",
        "--count",
        type=count,
        metavar="COUNT",
        help="end after so many changes (default: go on)",
    )
    options = parser.parse(arguments)
    if not options.bootstrap_controller:
        parser.error("say which controllers: --bootstrap-controller HOST:PORT")
    return said(_COMMAND, lambda: _watch(options))


def _watch(options: argparse.Namespace) -> int:
    from odradek.broker.quorum.image.changes import changes

    left = options.count
    for before, after in _images(options):
        for change in changes(before, after):
            if left == 0:
                return 0
            _show(change, before, after, options)
            left = None if left is None else left - 1
        if left == 0:
            return 0
    return 0


def _images(
    options: argparse.Namespace,
) -> Iterator[tuple[MetadataImage, MetadataImage]]:
    """Each image with the one before it; the first is what is there already."""
    from .stored import reader_of

    with reader_of(
        options.bootstrap_controller, options.security, options.timeout
    ) as reader:
        reader.catch_up(options.timeout)
        before = reader.observer.replay.image
        yield before, before
        while True:
            reader.step()
            after = reader.observer.replay.image
            if after is not before:
                yield before, after
                before = after


def _show(
    change: Change,
    before: MetadataImage,
    after: MetadataImage,
    options: argparse.Namespace,
) -> None:
    word, name = _WORDS[change.section], _name(change, before, after)
    how = (
        "added"
        if change.before is None
        else "removed"
        if change.after is None
        else "changed"
    )
    fields = {} if change.section in _HIDDEN else dict(_fields(change))
    if options.json:
        row = {"offset": after.offset, "what": word, "name": name, "change": how}
        print_json({**row, "fields": fields})
        return
    told = ", ".join(
        f"{field}: {old} -> {new}" if how == "changed" else f"{field}: {new}"
        for field, (old, new) in fields.items()
        if how != "removed"
    )
    text = f"{after.offset}  {word} {name} {how}{': ' * bool(told)}{told}"
    print(printable(text), flush=True)


def _name(change: Change, before: MetadataImage, after: MetadataImage) -> str:
    from odradek.protocol.uuids import to_text

    if change.section == "topics":
        return str((change.after or change.before).name)
    if change.section == "partitions":
        topic_id, number = change.key
        topic = after.topics.get(topic_id) or before.topics[topic_id]
        return f"{topic.name}-{number}"
    if change.section == "acls":
        return to_text(change.key)
    if change.section == "quotas":
        return ", ".join(f"{kind} {of or '<default>'}" for kind, of in change.key)
    if change.section in ("options", "credentials"):
        return " ".join(str(part) for part in change.key if part != "")
    return str(change.key)


def _fields(change: Change) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The fields that differ, by name, each as before and after."""
    if change.section == "topics":
        return
    old, new = _as_dict(change.before), _as_dict(change.after)
    if change.section == "options":
        old, new = _without_secrets(old), _without_secrets(new)
    for field in {**old, **new}:
        pair = old.get(field), new.get(field)
        if pair[0] != pair[1]:
            yield field, pair


def _without_secrets(options: dict[str, Any]) -> dict[str, Any]:
    """The log of the controllers has passwords as they are."""
    from odradek.broker.config.secrets import shown

    return {name: shown(name, value) for name, value in options.items()}


def _as_dict(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    if isinstance(value, int):
        return {"level": value}
    return {name: _plain(each) for name, each in value.items()}


def _plain(value: Any) -> Any:
    from odradek.protocol.uuids import to_text

    if isinstance(value, bytes):
        return to_text(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "items"):
        return {name: _plain(each) for name, each in value.items()}
    return value
