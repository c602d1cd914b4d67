"""What is loaded when: by name, as times differ and names do not."""

import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.broker.cli.node.extensions import EXTENSIONS
from odradek.broker.handlers import MODULES
from odradek.broker.node import late_modules
from tests.certificates import authority

ROOT = Path(__file__).parents[3]
OURS = "odradek"
TWINS = "odradek.protocol.plain"  # of what may not have been built
# Of ours. More is no mistake, but a start that is slower for everybody: half a
# millisecond each, so ask whether the first answer needs it.
FIRST_ANSWER_MODULES_MAX = 159
# Who asks for the versions waits for none of these.
LATE = {f"odradek.broker.{name}" for name in late_modules.LATE_MODULES} | {
    "odradek.broker.config.topic_config",
    "odradek.broker.handlers.topics",
    "odradek.broker.operate.admin_socket",
    "odradek.broker.upkeep.compaction.cleaning_process",
    "odradek.broker.metadata.client_telemetry",
    "odradek.broker.coordinator",
    "odradek.broker.operate.http_server",
    "odradek.broker.metadata.scram_credentials",
    "odradek.broker.config.text.pattern",
    "odradek.broker.requests.quotas.metered",
    "odradek.broker.replica",
    "bz2",
    "odradek.client",
    "ctypes",
    "difflib",
    "email",
    "hashlib",
    "importlib.metadata",
    "json",
    "pickle",
    "platform",
    "shutil",
    "odradek.storage.cleaner",
    "odradek.storage.local",
    "odradek.storage.log",
    "odradek.storage.producers",
    "odradek.storage.segment",
    "odradek.storage.values",
    "uuid",
}
# Of Python's own: loaded with the first command on the socket, and the first round.
RARE = {"json", "pickle"}
# What only TLS, logins or access control lists need: a broker without them has none.
SECURITY = (
    "cryptography",
    "odradek.broker.metadata.access",
    "odradek.broker.config.options.security.login_checks",
    "odradek.broker.config.options.security.tls_checks",
    "odradek.broker.metadata.acls",
    "odradek.broker.network.guarded_connection",
    "odradek.broker.network.pre_auth",
    "odradek.broker.network.tls",
    "odradek.broker.node.authorizing",
    "odradek.broker.node.listener_tls",
    "odradek.broker.security",
    "odradek.protocol.acl_entries",
    "odradek.protocol.jaas",
    "odradek.protocol.scram",
)
# Every module of ours that a broker holds when it is ready, with nothing set. One more
# is no mistake: add it, if every broker needs it, else load it where it is needed.
PLAIN_START = Path(__file__).with_name("plain_start.txt")
RARE_HANDLERS = {
    "odradek.broker.handlers.security.acls",
    "odradek.broker.handlers.security.delegation_tokens",
}

# Needed with TLS and logins, but by no start: by a first login, or never.
RARE_IN_SECURITY = {
    "_strptime",
    "json",
    "odradek.protocol.jaas",
    "shlex",
    "shutil",
    "tempfile",
}
SECURE_SCRIPT = """
import sys

from odradek.broker.network import guarded_connection
from odradek.broker.network.tls import door
from odradek.broker.security.certificates import certificate, identity, renewal
from odradek.broker.security.login import setup
from odradek.protocol import scram

certificate.parse_certificate(sys.stdin.buffer.read())
print(*sys.modules, "compiled:", scram._compiled.cache_info().currsize)
"""

SCRIPT = """
import asyncio, signal, struct, sys

before = set(sys.modules)  # some that measure tests have loaded others already
from odradek.broker.node import late_modules, server
from odradek.broker.cli.main import main

ASK_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
DESCRIBE_ACLS = struct.pack(">hhih9B", 29, 3, 7, -1, 0, 1, 1, 1, 1, 1, 1, 1, 0)

async def ask(request):
    reader, writer = await asyncio.open_connection("127.0.0.1", listening.port)
    writer.write(request)
    size = int.from_bytes(await reader.readexactly(4))
    answer = await reader.readexactly(size)
    writer.close()
    return answer

async def load_late():
    global listening
    (listening,) = broker.listeners
    answer = await ask(ASK_VERSIONS)
    assert answer[4:6] == bytes(2), answer
    print(*sys.modules.keys() - before)
    await late_modules.load_late()
    print(*sys.modules.keys() - before)
    answer = await ask(struct.pack(">i", len(DESCRIBE_ACLS)) + DESCRIBE_ACLS)
    print(answer[:4].hex(), *sys.modules.keys() - before)

async def make_topic():
    print(*sys.modules.keys() - before)
    await broker.services.metadata.create_topic("t", 1)
    for _ in range(10_000):  # it may still open what was there
        await asyncio.sleep(0)
    print(*sys.modules.keys() - before)
    signal.raise_signal(signal.SIGTERM)

class Server(server.Server):
    async def start(self):
        global broker, made
        broker = self
        await super().start()
        made = asyncio.create_task(make_topic())

server.Server, server.load_late = Server, load_late
main(["serve", "--port", "0", "--data-dir", sys.argv[1]])
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> list[set[str]]:
    """The modules at the first answer; before the ready line; at the first of ACLs;
    while there is no topic; with the first one.
    """
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path_factory.mktemp("data") / "data")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines.pop(3).startswith("odradek ready")
    return [set(line.split()) for line in lines]


def test_the_first_answer_waits_for_little(loaded: list[set[str]]) -> None:
    first = loaded[0]
    assert sorted(first & LATE) == []
    handlers = {f"odradek.broker.handlers.{name}" for name in MODULES}
    assert first & handlers == {"odradek.broker.handlers.cluster.api_versions"}
    ours = {name for name in first if name.split(".")[0] == OURS}
    assert len(ours) <= FIRST_ANSWER_MODULES_MAX


def test_what_clients_use_is_there_before_the_ready_line(
    loaded: list[set[str]],
) -> None:
    assert {f"odradek.broker.{name}" for name in late_modules.LATE_MODULES} <= loaded[1]
    assert not loaded[1] & (RARE_HANDLERS | RARE)


def test_a_rare_request_loads_its_handler_and_is_answered(
    loaded: list[set[str]],
) -> None:
    assert "00000007" in loaded[2]
    assert loaded[2] & RARE_HANDLERS == {"odradek.broker.handlers.security.acls"}


def test_what_logs_need_comes_with_the_first_topic(loaded: list[set[str]]) -> None:
    needed = {f"odradek.storage.{name}" for name in late_modules.LOG_MODULES}
    assert sorted(needed & loaded[3]) == []
    assert needed <= loaded[4]


def test_a_plain_broker_holds_what_the_list_says(loaded: list[set[str]]) -> None:
    held = loaded[3] - (loaded[2] - loaded[1])  # that was the request for ACLs
    ours = {
        name
        for name in held - set(EXTENSIONS.values())
        if name.split(".")[0] == OURS and not name.startswith(TWINS)
    }
    listed = set(PLAIN_START.read_text().split())
    assert sorted(ours - listed) == [], "loaded, and not in the list"
    assert sorted(listed - ours) == [], "in the list, and not loaded"
    prefixes = tuple(f"{name}." for name in SECURITY)
    of_security = {x for x in held if x in SECURITY or x.startswith(prefixes)}
    assert sorted(of_security) == []


def test_a_start_with_tls_and_logins_waits_for_no_more_than_it_needs() -> None:
    certificate = ssl.PEM_cert_to_DER_cert(authority().certificate.read_text())
    done = subprocess.run(
        [sys.executable, "-c", SECURE_SCRIPT],
        cwd=ROOT,
        input=certificate,
        capture_output=True,
        check=True,
    )
    modules, _, compiled = done.stdout.decode().partition("compiled: ")
    assert sorted(RARE_IN_SECURITY & set(modules.split())) == []
    assert compiled.strip() == "0"
