"""Apache Kafka as a target: one node, the release's own settings, a heap of 1 GB.

Run as a script it prepares a data directory, which Kafka wants before its first
start.
"""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from targets import Target

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
JAVA = (
    "java -Xmx1G -Xms1G -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20"
    " -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"
    " -Djava.awt.headless=true"
)
# What the release has in its own files of options, for any broker.
OF_RELEASE = """\
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
num.recovery.threads.per.data.dir=2
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""
# What a single node needs besides.
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{spare_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{spare_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data_dir}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def kafka(
    libs: Path, variant: str = "", options: Mapping[str, str] | None = None
) -> Target:
    """Apache Kafka from the jars in ``libs``, perhaps with other settings."""
    quoted = shlex.quote(str(libs.resolve()))
    prepare = f"{shlex.quote(sys.executable)} {shlex.quote(__file__)} {quoted}"
    lines = "".join(f" {name}={value}" for name, value in (options or {}).items())
    return Target(
        f"Apache Kafka, {variant}" if variant else "Apache Kafka",
        f"{JAVA} -cp {quoted}/* kafka.Kafka {{data_dir}}.properties",
        f"{prepare} {{port}} {{spare_port}} {{data_dir}}{lines}",
        compiles_late=True,
    )


def main() -> None:
    libs, port, spare_port, data_dir, *lines = sys.argv[1:]
    properties = Path(f"{data_dir}.properties")
    properties.write_text(
        PROPERTIES.format(port=port, spare_port=spare_port, data_dir=data_dir)
        + OF_RELEASE
        + "".join(f"{line}\n" for line in lines)
    )
    tool = ["java", "-cp", f"{libs}/*", "kafka.tools.StorageTool", "format"]
    subprocess.run([*tool, "-t", CLUSTER_ID, "-c", str(properties)], check=True)


if __name__ == "__main__":
    main()
