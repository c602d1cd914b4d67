"""Make the pages that are made from code: the supported APIs, and the options.

docs/generate.py                    write them
docs/generate.py --print PAGE       show one instead
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import broker.handlers
from broker.config.broker_config import OPTIONS
from broker.config.option import Option, format_value
from broker.config.topic_config import TOPIC_OPTIONS
from broker.handlers.registry import registered_handlers
from protocol.api_keys import ApiKey

ROOT = Path(__file__).parents[1]
MADE = "<!-- Made by `make docs`; do not edit. -->"


def apis() -> Iterator[str]:
    """The dispatch table, as ApiVersions answers it."""
    yield from ("# Supported APIs", "", MADE, "")
    yield "What a client is told by ApiVersions; nothing else is answered."
    yield from ("", "| key | API | versions |", "|---|---|---|")
    broker.handlers.load()
    for key, handler in sorted(registered_handlers().items()):
        offered = f"{handler.advertised_min}-{handler.advertised_max}"
        if handler.min_version != handler.advertised_min:
            refused = f"{handler.advertised_min}-{handler.min_version - 1}"
            offered += f" ({refused} answered UNSUPPORTED_VERSION)"
        name = handler.request_class.__name__.removesuffix("Request")
        yield f"| {int(ApiKey(key))} | {name} | {offered} |"


def options() -> Iterator[str]:
    """The broker's options and a topic's, with defaults and meanings."""
    yield from ("# Options", "", MADE, "")
    yield "Sources, weakest first: defaults, the properties file of `--config`, the"
    yield "environment (`KAFKA_NUM_PARTITIONS` or `KAFKA_CFG_NUM_PARTITIONS` for"
    yield "`num.partitions`), the command line (`-o num.partitions=3`)."
    yield from ("", "## Broker", "", *_header())
    for _, (_, known) in sorted(OPTIONS.items()):
        yield _row(known, format_value(known.default))
    yield from ("", "## Topic", "", *_header())
    for name, entry in sorted(TOPIC_OPTIONS.items()):
        if not entry.is_hidden:
            synonym = f" Broker: `{entry.synonym}`." if entry.synonym else ""
            yield _row(entry.known, format_value(entry.known.default), name, synonym)


def _header() -> tuple[str, str]:
    return "| name | type | default | meaning |", "|---|---|---|---|"


def _row(
    known: Option, default: str | None, name: str | None = None, more: str = ""
) -> str:
    kind = known.kind.name.lower()
    meaning = known.full_meaning + more
    return f"| `{name or known.name}` | {kind} | {default or ''} | {meaning} |"


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "docs/apis.md": apis,
    "docs/options.md": options,
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
        (ROOT / name).write_text("\n".join(page()) + "\n")


if __name__ == "__main__":
    main()
