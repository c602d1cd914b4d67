"""Users, access control lists and tokens go on where Apache Kafka has stopped."""

from pathlib import Path

import pytest

from odradek.broker.cli.node.adopt import command
from tests.adopted_logins import ROOT, ROOT_PASSWORD, Adopted
from tests.apache_kafka.kept_logins import AUTHORIZER, SECRET, fill
from tests.apache_kafka.secure_node import PASSWORD, running_secure_kafka
from tests.broker_process import running_broker

# Those of Kafka's own file, and the operator's way in.
OPTIONS = f"""\
authorizer.class.name={AUTHORIZER["authorizer.class.name"]}
super.users=User:{ROOT}
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
delegation.token.secret.key={SECRET}
listeners=SASL_PLAINTEXT://127.0.0.1:0
listener.name.sasl_plaintext.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{ROOT}="{ROOT_PASSWORD}";
"""


@pytest.mark.long
def test_logins_and_rights_go_on(tmp_path: Path) -> None:
    """S031"""
    with running_secure_kafka(tmp_path, AUTHORIZER) as kafka:
        expected = fill(kafka)
        kafka.stop()
    assert command([str(kafka.data_dir)]) == 0
    file = tmp_path / "server.properties"
    file.touch(0o600)
    file.write_text(OPTIONS)
    words = ("--config", str(file))
    with running_broker(kafka.data_dir, *words) as broker:
        Adopted(broker.port, expected).check_all()
        assert PASSWORD not in broker.log()
        assert "Traceback" not in broker.log()
    snapshots = list(kafka.data_dir.glob("__cluster_metadata-0/*-*.checkpoint"))
    assert len(snapshots) > 1, "the first one has nothing but features"
