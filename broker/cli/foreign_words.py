"""Words that are no commands here, though other tools have them: what to type instead.

Spelling does not help with these: the word that looks like them is another one.
"""

from __future__ import annotations

_SERVE = "'odradek serve' starts a broker"
_STOP = "a broker stops at Ctrl-C, or when its process gets SIGTERM (kill)"
_OF_WHAT = "say of what first, as in 'odradek topic {}'"
_GROUPS = "'odradek group describe GROUP' shows how far a group is, and its lag"
_READ = "'odradek consume TOPIC' reads records"
_NO_ACLS = (
    "kafka-acls.sh and admin clients change ACLs, of a broker with"
    " authorizer.class.name=acl"
)
_NO_REGISTRY = (
    "odradek is not a schema registry; 'odradek consume' and 'produce' use one with"
    " --registry"
)
_NO_CONSOLE = "there is no web console yet; AKHQ and Kafka UI work with this broker"
_HTTP = "the option http.listener gives a broker /metrics, /livez and /readyz"

_ADVICE = {
    "acl": _NO_ACLS,
    "acls": _NO_ACLS,
    "broker": _SERVE,
    "cat": _READ,
    "console": _NO_CONSOLE,
    "create": _OF_WHAT.format("create"),
    "delete": _OF_WHAT.format("delete"),
    "describe": _OF_WHAT.format("describe"),
    "kill": _STOP,
    "lag": _GROUPS,
    "list": _OF_WHAT.format("list"),
    "login": "there are no sessions: --command-config FILE says who you are",
    "logs": "a broker writes its log to standard error, where it was started",
    "ls": _OF_WHAT.format("list"),
    "metrics": _HTTP,
    "offsets": _GROUPS,
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
}


def advice(word: str) -> str:
    """What there is in place of a command ``word``; empty where we do not know it."""
    if word.startswith("-"):
        return f"options come behind a command: odradek COMMAND {word}"
    return _ADVICE.get(word, "")
