"""Names that a shell completes and only a broker knows: of topics, groups, options.

A shell runs ``odradek completion names -- WORDS...`` with what is typed behind
``odradek``, the word at the cursor last, and gets a name a line. It is asked while
somebody types: half a second, and nothing is ever said of what went wrong.
"""

from __future__ import annotations

import contextlib
import io
import re
import signal
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.cli.arguments.brokers import ClusterParser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType

    from odradek.client.cluster import Cluster

    Names = Callable[["Typed"], Iterable[str]]

_TIMEOUT_S = 0.5
# Bash cuts words at these.
_BREAKS = (":", "=")
_INTERNAL = "__"


class Typed(NamedTuple):
    """A command line, up to the cursor."""

    command: str
    rest: Sequence[str]
    current: str

    @property
    def previous(self) -> str:
        """The word before the cursor."""
        return self.rest[-1] if self.rest else ""


def typed(words: Sequence[str], commands: Iterable[str]) -> Typed:
    """The command of these words: two words long where it has actions."""
    joined = _joined(words)
    *before, current = joined or [""]
    pair = " ".join(before[:2])
    size = 2 if pair in commands and len(before) > 1 else 1
    return Typed(" ".join(before[:size]), before[size:], current)


def _joined(words: Sequence[str]) -> list[str]:
    """The words without the cuts of bash."""
    joined: list[str] = []
    glues = False
    for word in words:
        if joined and (word in _BREAKS or glues):
            joined[-1] += word
        else:
            joined.append(word)
        glues = word in _BREAKS
    return joined


def names_of(line: Typed, takes_value: Callable[[Typed], bool]) -> list[str]:
    """What may stand at the cursor, as far as it begins so; nothing if nobody says.

    ``takes_value`` says whether the word before the cursor is an option with a value.
    """
    kind = _VALUES.get((line.command, line.previous)) or _VALUES.get(
        ("", line.previous)
    )
    if kind is None and not (line.previous.startswith("-") and takes_value(line)):
        kind = _PLACES.get(line.command)
    if kind is None or line.current.startswith("-"):
        return []
    with _in_time(_TIMEOUT_S), _quiet():
        return [name for name in kind(line) if _fits(name, line.current)]
    return []


def behind_break(names: Iterable[str], current: str) -> list[str]:
    """What bash puts in the place of ``current``: the part behind its last cut."""
    end = max(current.rfind(char) for char in _BREAKS) + 1
    return [name[end:] for name in names if len(name) > end]


def _fits(name: str, current: str) -> bool:
    # What a terminal would obey is not for a shell to write there.
    return name.startswith(current) and name.isprintable()


@contextlib.contextmanager
def _in_time(timeout_s: float) -> Iterator[None]:
    def over(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    from odradek.protocol.errors import KafkaError, MalformedRequest

    failures = (KafkaError, MalformedRequest, ValueError, OSError, SystemExit)
    with contextlib.suppress(*failures), contextlib.redirect_stderr(io.StringIO()):
        yield


@contextlib.contextmanager
def _cluster(line: Typed) -> Iterator[Cluster]:
    """The one that the line names."""
    from odradek.client.cluster import Cluster

    parser = ClusterParser("completion", "")
    given = list(line.rest)
    if line.command == "compact" and "--data-dir" not in given:
        given += ["--data-dir", "data"]
    options, _ = parser.parse_known_args(given)
    parser.find_brokers(options)
    with Cluster(
        options.bootstrap_server, timeout_s=_TIMEOUT_S, security=options.security
    ) as cluster:
        yield cluster


def _topics(line: Typed) -> Iterable[str]:
    from odradek.client.topics import describe_topics

    with _cluster(line) as cluster:
        found = describe_topics(cluster).found.values()
    shows_internal = line.current.startswith(_INTERNAL)
    return [each.name for each in found if shows_internal or not each.is_internal]


def _groups(line: Typed) -> Iterable[str]:
    from odradek.client.groups import list_groups

    with _cluster(line) as cluster:
        return [each.group_id for each in list_groups(cluster)]


def _transactional_ids(line: Typed) -> Iterable[str]:
    from odradek.client.transactions import list_transactions

    with _cluster(line) as cluster:
        return [each.transactional_id for each in list_transactions(cluster)]


def _users(line: Typed) -> Iterable[str]:
    from odradek.client.scram import describe_users

    with _cluster(line) as cluster:
        return list(describe_users(cluster).found)


def _profiles(line: Typed) -> Iterable[str]:
    from odradek.client.profiles import profiles_path, read_profiles

    return sorted(read_profiles(profiles_path()).known)


def _resources(line: Typed) -> Iterable[str]:
    """The kinds of what has options; behind the kind its names."""
    from .config.resource import KINDS

    kind = next((word for word in line.rest if word in KINDS), None)
    if kind is None:
        return list(KINDS)
    if kind == "topic":
        return _topics(line)
    if kind == "group":
        return _groups(line)
    if not kind.startswith("broker"):
        return []
    with _cluster(line) as cluster:
        return [str(node_id) for node_id in cluster.metadata(()).brokers]


def _options(line: Typed) -> Iterable[str]:
    """Those of what the line names, as its broker has them."""
    from odradek.client.configs import (
        ConfigResource,
        ConfigResourceType,
        describe_configs,
    )

    from .config.resource import KINDS

    _, rest = ClusterParser("completion", "").parse_known_args(list(line.rest))
    words = [word for word in rest if not word.startswith("-")]
    if line.command == "topic alter":
        words.insert(0, "topic")
    kind, name, *_ = [*words, "", ""]
    if kind not in KINDS:
        return []
    resource = ConfigResource(ConfigResourceType[KINDS[kind]], name)
    with _cluster(line) as cluster:
        return [each.name for each in describe_configs(cluster, resource)]


def _settings(line: Typed) -> Iterable[str]:
    return [f"{name}=" for name in _options(line)]


def _topic_settings(line: Typed) -> Iterable[str]:
    """Of a topic that is not there yet: our own know what it may have."""
    from odradek.broker.config.topic_config import TOPIC_OPTIONS

    return [f"{name}=" for name, each in TOPIC_OPTIONS.items() if not each.is_hidden]


def _broker_options(line: Typed) -> Iterable[str]:
    from odradek.broker.config.options.broker_config import OPTIONS

    return sorted(OPTIONS)


def _broker_settings(line: Typed) -> Iterable[str]:
    return [f"{name}=" for name in _broker_options(line)]


# What stands where no option does.
_PLACES: dict[str, Names] = {
    "topic describe": _topics,
    "topic alter": _topics,
    "topic delete": _topics,
    "topic delete-records": _topics,
    "produce": _topics,
    "consume": _topics,
    "compact": _topics,
    "pipeline export": _topics,
    "group describe": _groups,
    "group delete": _groups,
    "group reset-offsets": _groups,
    "group delete-offsets": _groups,
    "txn describe": _transactional_ids,
    "txn abort": _transactional_ids,
    "user describe": _users,
    "user set": _users,
    "user remove": _users,
    "profile use": _profiles,
    "profile show": _profiles,
    "profile delete": _profiles,
    "config describe": _resources,
    "config alter": _resources,
    "config show": _broker_options,
}
# What the option before the cursor takes: of a command, or of whichever has it.
_VALUES: dict[tuple[str, str], Names] = {
    ("", "--topic"): _topics,
    ("", "--group"): _groups,
    ("", "-g"): _groups,
    ("", "--transaction"): _transactional_ids,
    ("", "--profile"): _profiles,
    ("txn find-hanging", "--topic"): _topics,
    ("quota list", "--user"): _users,
    ("quota describe", "--user"): _users,
    ("quota set", "--user"): _users,
    ("quota remove", "--user"): _users,
    ("config describe", "--option"): _options,
    ("config alter", "--delete"): _options,
    ("config alter", "--set"): _settings,
    ("config alter", "--append"): _settings,
    ("config alter", "--subtract"): _settings,
    ("topic alter", "--config"): _settings,
    ("topic alter", "--delete-config"): _options,
    ("topic create", "--config"): _topic_settings,
    ("serve", "-o"): _broker_settings,
}
COMMANDS = sorted({*_PLACES, *(command for command, _ in _VALUES if command)})


def has_value(flag: str, help_text: str) -> bool:
    """Whether an option takes a value: its help has a word in capitals behind it."""
    return bool(re.search(rf"(?<![\w-]){re.escape(flag)} (?=[A-Z{{])", help_text))
