"""Make the pages that are made from code: APIs, options, metrics, states.

docs/generate.py                    write them
docs/generate.py --print PAGE       show one instead
"""

import argparse
import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from metric_tables import page_with_tables

from odradek.broker import handlers
from odradek.broker.config.client_metrics_config import CLIENT_METRICS_OPTIONS
from odradek.broker.config.group_config import GROUP_OPTIONS, group_default
from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.options.foreign import meaning_of
from odradek.broker.config.options.foreign_table import foreign_table
from odradek.broker.config.options.option import Option, format_value
from odradek.broker.config.topic_config import TOPIC_OPTIONS
from odradek.broker.coordinator.group.state import classic_states
from odradek.broker.coordinator.group.state.consumer.group import ConsumerState
from odradek.broker.coordinator.group.state.consumer.member import HoldingState
from odradek.broker.coordinator.group.state.share.group import ShareState
from odradek.broker.coordinator.transaction import states as transaction_states
from odradek.broker.requests.registry import offers, registered_handlers
from odradek.broker.share import record_states
from odradek.protocol.api_keys import ApiKey

ROOT = Path(__file__).parents[1]
Event = TypeVar("Event", bound=Enum)
State = TypeVar("State", bound=Enum)
MADE = "<!-- Made by `make docs`; do not edit. -->"


def apis() -> Iterator[str]:
    """The dispatch table, as ApiVersions answers it."""
    yield from ("# Supported APIs", "", MADE, "")
    yield "What a client is told by ApiVersions; nothing else is answered. Of the"
    yield "metrics of clients (71, 72) it is told while somebody subscribes to any."
    yield from ("", "| key | API | versions |", "|---|---|---|")
    handlers.load()
    for key, handler in sorted(registered_handlers().items()):
        offered = f"{handler.advertised_min}-{handler.advertised_max}"
        if handler.min_version != handler.advertised_min:
            refused = f"{handler.advertised_min}-{handler.min_version - 1}"
            offered += f" ({refused} answered UNSUPPORTED_VERSION)"
        name = handler.request_class.__name__.removesuffix("Request")
        yield f"| {int(ApiKey(key))} | {name} | {offered} |"


def offered() -> Iterator[str]:
    """The table by which a handler is found that is not loaded."""
    yield '"""Which APIs there are, in which versions, and which modules answer them.'
    yield ""
    yield "Made by `make docs` from what the handlers register; do not edit."
    yield '"""'
    yield from ("", "from typing import Final", "", "from .registry import Offer", "")
    yield "OFFERED: Final = {"
    handlers.load()
    for key, (first, last, modules) in offers().items():
        named = ", ".join(f'"{name}"' for name in modules)
        comma = "," if len(modules) == 1 else ""
        yield f"    {int(key)}: Offer({first}, {last}, ({named}{comma})),"
    yield "}"


def options() -> Iterator[str]:
    """The broker's options and a topic's, with defaults and meanings."""
    yield from ("# Options", "", MADE, "")
    yield "Sources, weakest first: defaults, the properties file of `--config`, the"
    yield "environment (`KAFKA_NUM_PARTITIONS` or `KAFKA_CFG_NUM_PARTITIONS` for"
    yield "`num.partitions`), the command line (`-o num.partitions=3`)."
    yield "Those marked `*` can be changed while the broker runs, for this broker or"
    yield "for all (`kafka-configs.sh --entity-type brokers`); such a change is kept,"
    yield "and is stronger than all other sources; those that begin with `ssl.` for one"
    yield "listener of one broker (`listener.name.NAME.ssl.…`)."
    yield from ("", "## Broker", "", *_header())
    for _, (_, known) in sorted(OPTIONS.items()):
        mark = "*" if known.is_dynamic else ""
        row = _row(known, format_value(known.default))
        yield row.replace("` |", f"`{mark} |", 1)
    yield from ("", "## Topic", "", *_header())
    for name, entry in sorted(TOPIC_OPTIONS.items()):
        if not entry.is_hidden:
            synonym = f" Broker: `{entry.synonym}`." if entry.synonym else ""
            yield _row(entry.known, format_value(entry.known.default), name, synonym)
    yield from ("", "## Group", "", *_header())
    for name, of_group in GROUP_OPTIONS.items():
        default = group_default(name, BrokerConfig())
        behind = f" Broker: `{of_group.synonym}`." if of_group.synonym else ""
        yield _row(of_group.known, format_value(default), name, behind)
    yield from ("", "## Subscription to the metrics of clients", "", *_header())
    for known in CLIENT_METRICS_OPTIONS.values():
        yield _row(known, format_value(known.default))
    yield from _foreign()


def _foreign() -> Iterator[str]:
    """The options of Apache Kafka that this broker has not, by what is said of them."""
    yield from ("", "## Options of Apache Kafka that this broker does not have", "")
    yield "They are accepted with a line in the log, so that a file of options that was"
    yield "written for Apache Kafka starts this broker too, and DescribeConfigs shows"
    yield "them. Some are refused, as silence would be a lie."
    yield from ("", "| options | what is said |", "|---|---|")
    names: dict[str, list[str]] = {}
    for name in sorted(foreign_table()):
        names.setdefault(meaning_of(name), []).append(f"`{name}`")
    for meaning, listed in sorted(names.items()):
        yield f"| {', '.join(listed)} | {meaning} |"


def _header() -> tuple[str, str]:
    return "| name | type | default | meaning |", "|---|---|---|---|"


def _row(
    known: Option, default: str | None, name: str | None = None, more: str = ""
) -> str:
    kind = known.kind.name.lower()
    meaning = known.full_meaning + more
    return f"| `{name or known.name}` | {kind} | {default or ''} | {meaning} |"


def states() -> Iterator[str]:
    """What leads from state to state, as the coordinators' tables say it."""
    yield from ("# States", "", MADE, "")
    yield "What leads from one state to the next: a row for each state, a column for"
    yield "each thing that can happen, and where they meet the state that follows."
    yield "Where there is none it cannot happen; the broker would hold it for a bug."
    yield from ("", "## A transactional id", "")
    yield "Its records in `__transaction_state` say the state. A transactional id that"
    yield "nobody uses for long is forgotten, from any state without a transaction."
    yield from _table(
        transaction_states.TransactionEvent,
        transaction_states.TRANSITIONS,
        lambda state: state.label,
    )
    yield from ("", "## A classic group", "")
    yield "Only its members, and what they were assigned, are in `__consumer_offsets`."
    yield "After a start a group with members is stable, one without is empty."
    yield from _table(
        classic_states.ClassicEvent,
        classic_states.TRANSITIONS,
        lambda state: state.value,
    )
    yield from ("", "## A consumer group (KIP-848)", "")
    yield "Nothing leads from state to state: it follows from the epochs of the group,"
    yield "and from what its members are at."
    yield from _states(ConsumerState, lambda state: str(state.value))
    yield from ("", "What a member waits for stands in its record:")
    yield from _states(HoldingState, lambda state: state.name)
    yield from ("", "## A share group (KIP-932)", "")
    yield "It has members or not. They never wait for each other."
    yield from _states(ShareState, lambda state: str(state.value))
    yield from ("", "## A record in a share group", "")
    yield "Its state in a partition, for a group. What was acquired is not written:"
    yield "after a start it is available, with the deliveries that it had before."
    yield from _table(
        record_states.RecordEvent,
        record_states.TRANSITIONS,
        lambda state: state.name.capitalize(),
    )


def _states(states: type[State], name: Callable[[State], str]) -> Iterator[str]:
    """States to which no table leads, and what they mean."""
    meanings = _meanings(states)
    yield from ("", "| state | meaning |", "|---|---|")
    for state in states:
        yield f"| {name(state)} | {meanings[state.name]} |"


def _table(
    events: type[Event],
    transitions: Mapping[State, Mapping[Event, State]],
    name: Callable[[State], str],
) -> Iterator[str]:
    """A table of the transitions, then what its words mean."""
    yield from ("", f"| state | {' | '.join(each.value for each in events)} |")
    yield "|---" * (len(events) + 1) + "|"
    for state, known in transitions.items():
        cells = [name(known[each]) if each in known else "" for each in events]
        yield f"| **{name(state)}** | {' | '.join(cells)} |"
    meanings = _meanings(type(next(iter(transitions))))
    yield from ("", "| state | meaning |", "|---|---|")
    for state in transitions:
        yield f"| {name(state)} | {meanings[state.name]} |"
    meanings = _meanings(events)
    yield from ("", "| what happens | meaning |", "|---|---|")
    for event in events:
        yield f"| {event.value} | {meanings[event.name]} |"


def _meanings(kind: type[Enum]) -> dict[str, str]:
    """What stands below the members of an enumeration, by their names."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for before, below in pairwise(definition.body):
        match before, below:
            case (
                ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "docs/apis.md": apis,
    "docs/metrics.md": page_with_tables,
    "docs/options.md": options,
    "docs/states.md": states,
    "broker/requests/offered.py": offered,
}


def main() -> None:
    """Write the pages, or print the one that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", choices=PAGES, dest="shown")
    shown = parser.parse_args().shown
    if shown:
        sys.stdout.write("\n".join(PAGES[shown]()) + "\n")
        return
    for name, page in PAGES.items():
        text = "\n".join(page()) + "\n"
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
