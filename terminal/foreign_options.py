"""Options that other tools have, and our commands have not: what to type instead.

Who knows Kafka's tools or kcat types their options. Spelling does not help with these:
an option of ours that looks like one of theirs is often another one. Looked into only
when a command has met an option that it does not know.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_BROKER = "--bootstrap-server HOST:PORT names a broker"
_TOPIC = "write the topic by itself, as in 'odradek {} orders'"
_GROUP = "write the group by itself, as in 'odradek {} billing'"
_ID = "write the id by itself, as in 'odradek {} import-7'"
_CLIENT = "--command-config FILE has options of a client"
_TAKES_FILE = "it is called --command-config FILE here"
_LEAVE_OUT = "; leave it out"
_PARTITIONS = "partitions stand behind the topic, as in orders:0,2"
_SHOWN = "-f says what is shown, as in -f '%k: %s\\n'; -K : shows keys before values"
_SPLIT = "-K : splits a line into key and value, -H NAME=VALUE adds a header"
_NO_ENTITY = "write what it is without it, as in 'odradek {} topic orders'"
_SET = "--set NAME=VALUE gives an option a value"
_AT_MOST = "'odradek doctor' and 'odradek cluster describe' show what is in trouble"
_SIZED = "batches are made and sent by themselves" + _LEAVE_OUT

# Of every command that asks a cluster, which has these two.
_OF_A_CLUSTER = {"--bootstrap-server", "--command-config"}
_OF_CLUSTERS: Mapping[str, str] = {
    "--broker-list": _BROKER,
    "--brokers": _BROKER,
    "--zookeeper": f"there is no ZooKeeper; {_BROKER}",
    "--consumer.config": _TAKES_FILE,
    "--producer.config": _TAKES_FILE,
    "--config-file": _TAKES_FILE,
    "--command-property": _CLIENT,
    "--consumer-property": _CLIENT,
    "--producer-property": _CLIENT,
}
_OF_GROUPS = {
    "--group": _GROUP,
    "--all-groups": "--all takes all groups",
}
_OF_ACLS = {
    "--allow-principal": "write the user by itself, as in"
    " 'odradek acl grant alice read topic orders'",
    "--deny-principal": "write the user by itself, as in"
    " 'odradek acl deny alice read topic orders'",
    "--operation": "write operations behind the user, as in 'alice read,write topic'",
    "--topic": "write it as 'topic orders', behind the operations",
    "--resource-pattern-type": "a name that ends in * is a prefix, --literal takes it"
    " as it is",
    "--allow-host": "--host says from which address",
    "--deny-host": "--host says from which address",
    "--transactional-id": "write it as 'transactional-id import-7'",
    "--cluster": "write it as 'cluster', behind the operations",
}
_OF_CONFIGS = {
    "--entity-type": _NO_ENTITY,
    "--entity-name": _NO_ENTITY,
    "--entity-default": _NO_ENTITY,
    "--topic": _NO_ENTITY,
}

# By command, or by command and action.
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "consume": {
        "--topic": _TOPIC,
        "-t": _TOPIC,
        "--include": "topics are named one by one; 'odradek topic list --pattern'"
        " finds them",
        "--whitelist": "topics are named one by one; 'odradek topic list --pattern'"
        " finds them",
        "--from-beginning": "it begins there, unless -o says otherwise" + _LEAVE_OUT,
        "--partition": _PARTITIONS,
        "-p": _PARTITIONS,
        "--max-messages": "-c N ends after N records",
        "--timeout-ms": "-e ends where the topics end now",
        "--property": _SHOWN,
        "--formatter-property": _SHOWN,
        "--formatter-config": _SHOWN,
        "--formatter": _SHOWN,
        "--isolation-level": "what transactions have not committed is left out, unless"
        " --uncommitted asks for it",
        "--key-deserializer": "--key-format says what a key is",
        "--value-deserializer": "--value-format says what a value is",
        "-b": _BROKER,
        "-J": "--json shows records as JSON",
        "-C": "'odradek consume' always reads" + _LEAVE_OUT,
        "-q": "only records are written" + _LEAVE_OUT,
        "-u": "records are written as they come" + _LEAVE_OUT,
        "-X": _CLIENT,
        "-G": "-g GROUP makes it a member of a group",
    },
    "produce": {
        "--topic": _TOPIC,
        "-t": _TOPIC,
        "--property": _SPLIT,
        "--reader-property": _SPLIT,
        "--reader-config": _SPLIT,
        "--line-reader": "-K, -D and --json-lines say how the input is read",
        "--request-required-acks": "it is called --acks here",
        "--request-timeout-ms": "it is called --timeout here, as in --timeout 30s",
        "--compression-codec": "-z CODEC compresses, as in -z zstd",
        "--sync": "every record is waited for" + _LEAVE_OUT,
        "--batch-size": _SIZED,
        "--max-partition-memory-bytes": _SIZED,
        "--max-memory-bytes": _SIZED,
        "--max-block-ms": "it is called --timeout here, as in --timeout 30s",
        "-b": _BROKER,
        "-P": "'odradek produce' always writes" + _LEAVE_OUT,
        "-l": "--file PATH makes a record of a file; for one of each line, < PATH",
        "-X": _CLIENT,
    },
    "topic": {
        "--topic": _TOPIC,
        "--replica-assignment": "the cluster chooses the brokers;"
        " --replication-factor says how many",
        "--replica-placement": "the cluster chooses the brokers;"
        " --replication-factor says how many",
        "--exclude-internal": "it is so, unless --internal asks for them" + _LEAVE_OUT,
        "--unavailable-partitions": _AT_MOST,
        "--under-replicated-partitions": _AT_MOST,
        "--under-min-isr-partitions": _AT_MOST,
        "--at-min-isr-partitions": _AT_MOST,
        "--topics-with-overrides": "'odradek topic describe --all' shows all options"
        " that are set",
        "--offset-json-file": "write topics and --before, as in"
        " 'odradek topic delete-records orders:0 --before 42'",
        "--offset": "it is called --before here",
        "--add-config": "it is called --config here",
    },
    "group": {
        **_OF_GROUPS,
        "--offsets": "offsets are shown anyway" + _LEAVE_OUT,
        "--verbose": "--members shows them with their partitions",
        "--to-current": "a group stays where it is without it; --shift-by moves it",
        "--from-file": "say where to: --to-offset, --to-earliest, --shift-by or others",
        "--export": "--json shows the plan for programs",
        "--reset-offsets": "'odradek group reset-offsets' does",
        "--delete-offsets": "'odradek group delete-offsets' does",
    },
    "txn": {
        "--transactional-id": _ID,
        "--broker-id": "all brokers are asked" + _LEAVE_OUT,
        "--max-transaction-timeout": "--older-than says how old, as in 15m",
    },
    "config describe": _OF_CONFIGS,
    "config alter": {
        **_OF_CONFIGS,
        "--config": _SET,
        "--add-config": _SET,
        "--add-config-file": _SET,
        "--delete-config": "--delete NAME lets an option be the default again",
    },
    "acl": _OF_ACLS,
    "quota": {
        "--add-config": "write it by itself, as in"
        " 'odradek quota set --user alice producer_byte_rate=1048576'",
        "--delete-config": "'odradek quota remove --user alice' takes quotas away",
        "--entity-type": "--user, --client-id and --ip say whose",
        "--entity-name": "--user, --client-id and --ip say whose",
        "--entity-default": "--user-default, --client-id-default and --ip-default do",
        "--users": "it is called --user here",
        "--clients": "it is called --client-id here",
        "--ips": "it is called --ip here",
    },
    "token": {
        "--max-life-time-period": "it is called --max-lifetime here, as in 7d",
        "--renewer-principal": "it is called --renewer here",
        "--owner-principal": "it is called --owner here",
        "--renew-time-period": "it is called --period here",
        "--expiry-time-period": "it is called --in here",
        "--hmac": "write the id of the token by itself",
    },
    "serve": {
        "--override": "it is called -o here, as in -o num.partitions=3",
        "-daemon": "it stays in the foreground; a service manager, or &, puts it"
        " behind" + _LEAVE_OUT,
        "--bootstrap-server": "--host and --port say where it listens",
        "--log-dirs": "it is called --data-dir here",
        "-c": "it is called --config here",
        "-p": "it is called --port here",
        "-d": "it is called --data-dir here",
    },
    "bench": {
        "--num-records": "it is called --records here",
        "--messages": "it is called --records here",
        "--record-size": "it is called --size here",
        "--throughput": "it writes as fast as it can" + _LEAVE_OUT,
        "--producer-props": _CLIENT,
    },
    "dump-log": {
        "--cluster-metadata-decoder": "'odradek cluster describe --directory DIR'"
        " shows what __cluster_metadata says",
        "--verify-index-only": "indexes are always checked" + _LEAVE_OUT,
        "--index-sanity-check": "indexes are always checked" + _LEAVE_OUT,
        "--remote-log-metadata-decoder": "there is no tiered storage here",
        "--skip-record-metadata": "records are shown with --deep only" + _LEAVE_OUT,
        "--value-decoder-class": "values are shown as text, or as records of the"
        " broker's own topics with --offsets-decoder and the others",
        "--key-decoder-class": "keys are shown as text, or as records of the"
        " broker's own topics with --offsets-decoder and the others",
    },
    "pipeline export": {
        "--topic": "write the topic by itself, as in 'odradek {} orders ./orders'",
        "-t": "write the topic by itself, as in 'odradek {} orders ./orders'",
        "--table": "write it behind the topic, as in 'odradek {} orders ./orders'",
        "--path": "write it behind the topic, as in 'odradek {} orders ./orders'",
        "--from-beginning": "it begins there, unless --from says otherwise"
        + _LEAVE_OUT,
    },
    "cluster": {
        "--status": "'odradek cluster describe' shows it" + _LEAVE_OUT,
        "--replication": "'odradek cluster describe' shows it" + _LEAVE_OUT,
    },
}
_NEAR = 0.85


def instead(command: str, option: str, known: Collection[str]) -> str:
    """What to type for an ``option`` of another tool; empty where we do not know it.

    It may be misspelt, where no option that is ``known`` to the command is as near.
    Not every action of a command has the options that are there in place of it.
    """
    advice = {**_OPTIONS.get(command.split()[0], {}), **_OPTIONS.get(command, {})}
    advice = {each: text for each, text in advice.items() if _is_for(text, known)}
    if _OF_A_CLUSTER.issubset(known):
        advice |= _OF_CLUSTERS
    if option not in advice and option.startswith("--"):
        option = did_you_mean(option, [*known, *advice], _NEAR) or ""
    return advice.get(option, "").format(command) if option not in known else ""


def _is_for(advice: str, known: Collection[str]) -> bool:
    """Whether all options are known that it names, but those of other commands."""
    return set(re.findall(r"--[a-z-]+", re.sub("'.*?'", "", advice))).issubset(known)
