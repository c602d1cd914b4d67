"""Words that are no commands here, though other tools have them: what to type instead.

Spelling does not help with these: the word that looks like them is another one.
"""

from __future__ import annotations

from odradek.terminal.spelling import did_you_mean

_SERVE = "'odradek serve' starts a broker"
_STOP = "a broker stops at Ctrl-C, or when its process gets SIGTERM (kill)"
_OF_WHAT = "say of what first, as in 'odradek topic {}'"
_GROUPS = "'odradek group describe GROUP' shows how far a group is, and its lag"
_READ = "'odradek consume TOPIC' reads records"
_NO_REGISTRY = (
    "odradek is not a schema registry; 'odradek consume' and 'produce' use one with"
    " --registry"
)
_NO_CONSOLE = "there is no web console yet; AKHQ and Kafka UI work with this broker"
_CERTIFICATES = "'odradek cert' makes certificates, and shows them"
_SECURE = (
    "'odradek secure init' makes certificates, a first user, and a file to serve with"
)
_HTTP = "the option http.listener gives a broker /metrics, /livez and /readyz"

_ADVICE = {
    "acls": "'odradek acl' says who may do what",
    "ca": _CERTIFICATES,
    "certificate": _CERTIFICATES,
    "certs": _CERTIFICATES,
    "broker": _SERVE,
    "cat": _READ,
    "console": _NO_CONSOLE,
    "create": _OF_WHAT.format("create"),
    "delete": _OF_WHAT.format("delete"),
    "describe": _OF_WHAT.format("describe"),
    "kill": _STOP,
    "lag": _GROUPS,
    "list": _OF_WHAT.format("list"),
    "grant": "'odradek acl grant' lets a user do something",
    "init": _SECURE,
    "login": "there are no sessions: --command-config FILE says who you are",
    "logs": "a broker writes its log to standard error, where it was started",
    "ls": _OF_WHAT.format("list"),
    "metrics": _HTTP,
    "security": _SECURE,
    "setup": _SECURE,
    "ssl": _SECURE,
    "tls": _SECURE,
    "offsets": _GROUPS,
    "passwd": "'odradek user set' gives a user a password",
    "registry": _NO_REGISTRY,
    "run": _SERVE,
    "schema": _NO_REGISTRY,
    "schemas": _NO_REGISTRY,
    "start": _SERVE,
    "status": "'odradek health' asks whether a broker is ready",
    "stop": _STOP,
    "tail": _READ,
    "ui": _NO_CONSOLE,
    "up": _SERVE,
    "users": "'odradek user' shows users, and sets passwords",
}


# Apache Kafka's own tools, without .sh, and those that everybody has beside them.
_OFFSETS = "'odradek topic describe' shows the offsets of a topic"
_TOOLS = {
    "kafka-acls": "'odradek acl' does that",
    "kafka-broker-api-versions": "'odradek doctor' shows versions of APIs",
    "kafka-cluster": "'odradek cluster describe' shows the id of a cluster",
    "kafka-configs": "'odradek config' does that, of users 'odradek user' and 'quota'",
    "kafka-console-consumer": "'odradek consume TOPIC' reads records",
    "kafka-console-producer": "'odradek produce TOPIC' writes records",
    "kafka-console-share-consumer": "'odradek consume TOPIC --share GROUP' does that",
    "kafka-consumer-groups": "'odradek group' does that",
    "kafka-consumer-perf-test": "'odradek bench' does that",
    "kafka-delegation-tokens": "'odradek token' does that",
    "kafka-delete-records": "'odradek topic delete-records' does that",
    "kafka-dump-log": "'odradek dump-log' does that",
    "kafka-e2e-latency": "'odradek bench' does that",
    "kafka-features": "'odradek cluster describe' shows the levels of features",
    "kafka-get-offsets": _OFFSETS,
    "kafka-groups": "'odradek group list' does that",
    "kafka-log-dirs": "'odradek topic describe' shows partitions, with how far each is",
    "kafka-metadata-quorum": "'odradek cluster describe' does that",
    "kafka-metadata-shell": "'odradek cluster describe --directory DIR' does that",
    "kafka-producer-perf-test": "'odradek bench' does that",
    "kafka-server-start": _SERVE,
    "kafka-server-stop": _STOP,
    "kafka-share-groups": "'odradek group' does that",
    "kafka-storage": "no directory has to be formatted: 'odradek serve' makes one",
    "kafka-streams-groups": "'odradek group' does that",
    "kafka-topics": "'odradek topic' does that",
    "kafka-transactions": "'odradek txn' does that",
    "kafkacat": "'odradek consume TOPIC' reads records, 'odradek produce TOPIC' writes",
    "kcat": "'odradek consume TOPIC' reads records, 'odradek produce TOPIC' writes",
    "zookeeper-server-start": f"there is no ZooKeeper; {_SERVE}",
}


def advice(word: str) -> str:
    """What there is in place of a command ``word``; empty where we do not know it."""
    if word.startswith("-"):
        return f"options come behind a command: odradek COMMAND {word}"
    tool = word.removesuffix(".sh").removesuffix(".bat")
    if known := _TOOLS.get(tool) or _ADVICE.get(word):
        return known
    meant = did_you_mean(tool, _TOOLS, 0.8) if "-" in tool else None
    return f"in place of {meant}, {_TOOLS[meant]}" if meant else ""
