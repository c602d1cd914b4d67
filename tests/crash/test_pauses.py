"""R10: the broker, members and producers are frozen (SIGSTOP) and thawed.

A broker that was frozen for longer than any session: nobody owns what another owns,
and all is processed. A producer that was frozen while another took its transactional
id over is fenced, and nothing of its transaction is ever read.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import confluent_kafka

from tests.broker_process import BrokerProcess, running_broker
from tests.clients.adapters import COMMITTED, Confluent
from tests.crash.test_groups import OPTIONS, Numbers, Torture, create_topic
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
PAUSES = 12 if IS_LONG else 1
ZOMBIES = 20 if IS_LONG else 1
SESSION_S = 1.5


def freeze(broker: BrokerProcess, seconds: float) -> None:
    os.kill(broker.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(broker.pid, signal.SIGCONT)


def test_a_frozen_broker_splits_no_group(tmp_path: Path) -> None:
    chance = random.Random(PAUSES)
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        create_topic(broker.address)
        torture = Torture(broker, chance)
        try:
            torture.settle()
            numbers = Numbers(broker.address)
            for turn in range(PAUSES):
                frozen = torture.members[:: 2 if turn % 2 else 100]
                for member in frozen if turn % 3 else []:
                    member.send(signal.SIGSTOP)
                    member.is_frozen = True
                freeze(broker, chance.choice((0.3, 1, 2)) * SESSION_S)
                for member in frozen:
                    member.send(signal.SIGCONT)
                    member.is_frozen = False
                torture.settle()
            numbers.stop()
            deadline = time.monotonic() + PATIENCE_S
            while not torture.has_processed(numbers.counts):
                assert time.monotonic() < deadline, "records are not processed"
                time.sleep(0.05)
            torture.settle()
        finally:
            torture.close()
        print(f"{PAUSES} pauses, generation {torture.ledger.generation}")
        assert not torture.ledger.twice
        assert "Traceback" not in broker.log()


ZOMBIE = """
import sys
import confluent_kafka
from tests.crash.test_pauses import transactional
producer = transactional(sys.argv[1])
producer.begin_transaction()
producer.produce("t", b"zombie", partition=0)
producer.flush(20)
print("sent", flush=True)
sys.stdin.readline()
try:
    producer.commit_transaction(20)
    print("committed", flush=True)
except confluent_kafka.KafkaException as error:
    print("fatal" if error.args[0].fatal() else "refused", flush=True)
"""


def transactional(address: str) -> confluent_kafka.Producer:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "transactional.id": "x", "log_level": 0}
    )
    producer.init_transactions(30)
    return producer


def test_a_frozen_producer_is_fenced_when_it_thaws(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data") as broker:
        Confluent().create_topic(broker.address, "t", 1)
        for number in range(ZOMBIES):
            command = [sys.executable, "-c", ZOMBIE, broker.address]
            with subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            ) as zombie:
                assert zombie.stdin is not None
                assert zombie.stdout is not None
                assert zombie.stdout.readline() == "sent\n"
                zombie.send_signal(signal.SIGSTOP)
                heir = transactional(broker.address)
                if number % 2:
                    freeze(broker, 0.5)
                heir.begin_transaction()
                heir.produce("t", b"heir %d" % number, partition=0)
                heir.commit_transaction(30)
                zombie.send_signal(signal.SIGCONT)
                zombie.stdin.write("go on\n")
                zombie.stdin.flush()
                assert zombie.stdout.readline() == "fatal\n"
        found = Confluent().consume(broker.address, "t", 0, ZOMBIES, COMMITTED)
        values = [read.message.value for read in found]
        assert values == [b"heir %d" % number for number in range(ZOMBIES)]
        assert "Traceback" not in broker.log()
