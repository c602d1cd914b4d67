"""Words that are no commands here, though other tools have them: what to type instead.

Spelling does not help with these: the word that looks like them is another one.
"""

from __future__ import annotations

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


def advice(word: str) -> str:
    """What there is in place of a command ``word``; empty where we do not know it."""
    if word.startswith("-"):
        return f"options come behind a command: odradek COMMAND {word}"
    return _ADVICE.get(word, "")
