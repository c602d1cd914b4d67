"""``odradek adopt``: take over the data directory of an Apache Kafka that has stopped.

It writes a catalogue beside Kafka's files and changes nothing else. What is not
carried over, and what an operator should look at, is printed line by line.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.terminal.failure import USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument

if TYPE_CHECKING:
    from odradek.broker.adoption.adoption import Adoption, AdoptionRequest

REFUSED = 1
_DESCRIPTION = (
    "Take over data directories that Apache Kafka wrote and stopped: write a catalogue"
    " for them, and change nothing else. Exit code: 0 adopted, 1 refused, 2 usage."
)
_EXAMPLES = (
    "odradek adopt /var/lib/kafka/data --dry-run",
    "odradek adopt /var/lib/kafka/data && odradek serve --data-dir /var/lib/kafka/data",
)


def command(arguments: list[str]) -> int:
    """Take over the data directory of an Apache Kafka that has stopped."""
    parser = _parser()
    options = parser.parse(arguments)
    options.directories += options.log_dirs
    if not options.directories:
        parser.error("which directory? Name one, or several of the same broker")
    from odradek.broker.adoption.adoption import adopt
    from odradek.broker.adoption.metadata import AdoptionError
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.catalog.store import CatalogError
    from odradek.protocol.errors import InvalidConfig, KafkaStorageError
    from odradek.storage.directory.log_directory import DirectoryInUse

    request = _request(options)
    try:
        adoption = adopt(request, BrokerConfig(), is_dry_run=options.dry_run)
    except InvalidConfig as error:
        return fail("adopt", USAGE_ERROR, error)
    except (AdoptionError, DirectoryInUse, CatalogError, KafkaStorageError) as error:
        return fail("adopt", REFUSED, error)
    except OSError as error:
        return fail("adopt", REFUSED, f"{error.filename}: {error.strerror or error}")
    if options.json:
        print(json.dumps(_as_json(adoption, request, options.dry_run), indent=2))
    else:
        _print(adoption, request, options.dry_run)
    return 0


def _parser() -> Parser:
    parser = Parser("adopt", _DESCRIPTION, _EXAMPLES)
    parser.add_argument(
        "directories", nargs="*", type=Path, metavar="DIR", help="a log directory"
    )
    parser.add_argument(
        "--log-dirs",
        type=_paths,
        default=[],
        metavar="DIR,DIR",
        help="the log directories as log.dirs has them",
    )
    parser.add_argument(
        "--catalog-dir",
        type=Path,
        metavar="DIR",
        help="where the catalogue goes: what metadata.log.dir will be (default: the"
        " first log directory)",
    )
    parser.add_argument(
        "--metadata-dir",
        type=Path,
        metavar="DIR",
        help="where __cluster_metadata-0 lies, if in none of the log directories",
    )
    parser.add_argument(
        "--without-metadata",
        action="store_true",
        help="do not read __cluster_metadata-0; topics then keep everything",
    )
    parser.add_argument(
        "--topic-config",
        type=_topic_option,
        action="append",
        default=[],
        metavar="TOPIC:NAME=VALUE",
        help="set an option of a topic, of all with *; again for more",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done, do nothing"
    )
    json_argument(parser, "answer as JSON")
    return parser


def _paths(text: str) -> list[Path]:
    return [Path(part.strip()) for part in text.split(",") if part.strip()]


def _topic_option(text: str) -> tuple[str, str, str]:
    topic, colon, option = text.partition(":")
    name, equals, value = option.partition("=")
    if not (topic and colon and name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not like TOPIC:NAME=VALUE")
    return topic, name.strip(), value.strip()


def _request(options: argparse.Namespace) -> AdoptionRequest:
    from odradek.broker.adoption.adoption import AdoptionRequest

    overrides: dict[str, dict[str, str]] = {}
    for topic, name, value in options.topic_config:
        overrides.setdefault(topic, {})[name] = value
    return AdoptionRequest(
        directories=options.directories,
        catalog_directory=options.catalog_dir or options.directories[0],
        metadata_path=options.metadata_dir,
        reads_metadata=not options.without_metadata,
        overrides=overrides,
    )


def _print(adoption: Adoption, request: AdoptionRequest, is_dry_run: bool) -> None:
    print(f"cluster {adoption.cluster_id}, node {adoption.node_id}")
    print(f"next producer id {adoption.next_producer_id}")
    if adoption.metadata_directory is None:
        print("without a metadata log: topics have the options shown here")
    else:
        print(f"topics and their options are from {adoption.metadata_directory}")
    for topic in adoption.topics:
        chosen = " ".join(f"{name}={value}" for name, value in topic.options.items())
        count = len(topic.partitions)
        partitions = "1 partition" if count == 1 else f"{count} partitions"
        print(" ".join(filter(None, [f"topic {topic.name}: {partitions}", chosen])))
    for line in adoption.resources.counted():
        print(line)
    for note in adoption.notes:
        print(f"note: {note}")
    if is_dry_run:
        print("nothing was written (dry run)")
    else:
        print(f"catalogue written; start with: {serve_command(request)}")


def serve_command(request: AdoptionRequest) -> str:
    """The command that serves what was adopted."""
    directories = ",".join(map(str, request.directories))
    given = f"odradek serve --data-dir {directories}"
    if request.catalog_directory != request.directories[0]:
        given += f" -o metadata.log.dir={request.catalog_directory}"
    return given


def _as_json(
    adoption: Adoption, request: AdoptionRequest, is_dry_run: bool
) -> dict[str, Any]:
    from odradek.protocol.uuids import to_text

    metadata = adoption.metadata_directory
    return {
        "cluster_id": adoption.cluster_id,
        "node_id": adoption.node_id,
        "next_producer_id": adoption.next_producer_id,
        "metadata_directory": None if metadata is None else str(metadata),
        "topics": [
            {
                "name": topic.name,
                "topic_id": to_text(topic.topic_id),
                "options": topic.options,
                "partitions": [
                    {
                        "partition": partition.partition,
                        "leader_epoch": partition.leader_epoch,
                        "log_dir": partition.log_dir and str(partition.log_dir),
                        "has_records": partition.is_written,
                    }
                    for partition in topic.partitions
                ],
            }
            for topic in adoption.topics
        ],
        "resources": [
            {"kind": each.kind, "name": each.name, "options": sorted(options)}
            for each, options in adoption.resources.options.items()
        ],
        "notes": adoption.notes,
        "written": not is_dry_run,
        "serve": serve_command(request),
    }
