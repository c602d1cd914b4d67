"""The options that Apache Kafka 4.3 has and this broker has not: names and types.

They are accepted and shown, so that a file of options and a tool that expects them
work here too. ``foreign`` says why each means nothing, or is refused.
"""

from functools import cache

from .option import Kind, Option

# Name, type, default; ``*``: Apache Kafka lets it change while the broker runs. No
# default: none, or a class in Java.
_TABLE = """
add.partitions.to.txn.retry.backoff.max.ms INT 100
add.partitions.to.txn.retry.backoff.ms INT 20
alter.config.policy.class.name CLASS
alter.log.dirs.replication.quota.window.num INT 11
alter.log.dirs.replication.quota.window.size.seconds INT 1
auto.leader.rebalance.enable BOOLEAN true
background.threads* INT 10
broker.session.timeout.ms INT 9000
client.quota.callback.class CLASS
config.providers* LIST ""
controlled.shutdown.enable BOOLEAN true
controller.quorum.append.linger.ms INT 25
controller.quorum.auto.join.enable BOOLEAN false
controller.quorum.election.backoff.max.ms INT 1000
controller.quorum.election.timeout.ms INT 1000
controller.quorum.fetch.max.bytes INT 1048576
controller.quorum.fetch.snapshot.max.bytes INT 1048576
controller.quorum.fetch.timeout.ms INT 2000
controller.quorum.retry.backoff.ms INT 20
controller.socket.timeout.ms INT 30000
cordoned.log.dirs* LIST ""
create.topic.policy.class.name CLASS
early.start.listeners LIST
follower.fetch.last.tiered.offset.enable* BOOLEAN false
group.coordinator.append.linger.ms INT -1
group.coordinator.background.threads INT 2
group.coordinator.cached.buffer.max.bytes* INT 1048588
group.coordinator.threads INT 4
kafka.metrics.polling.interval.secs INT 10
kafka.metrics.reporters LIST ""
leader.imbalance.check.interval.seconds LONG 300
log.local.retention.bytes* LONG -2
log.local.retention.ms* LONG -2
metadata.log.max.record.bytes.between.snapshots LONG 20971520
metadata.log.max.snapshot.interval.ms LONG 3600000
metadata.log.segment.bytes INT 1073741824
metadata.log.segment.ms LONG 604800000
metadata.max.idle.interval.ms INT 500
metadata.max.retention.bytes LONG 104857600
metadata.max.retention.ms LONG 604800000
metric.reporters* LIST org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples INT 2
metrics.recording.level STRING INFO
metrics.sample.window.ms LONG 30000
num.io.threads* INT 8
num.network.threads* INT 3
num.replica.alter.log.dirs.threads INT
offsets.topic.compression.codec INT 0
principal.builder.class* CLASS
remote.fetch.max.wait.ms* INT 500
remote.list.offsets.request.timeout.ms* LONG 30000
remote.log.index.file.cache.total.size.bytes* LONG 1073741824
remote.log.manager.copier.thread.pool.size* INT 10
remote.log.manager.copy.max.bytes.per.second* LONG 9223372036854775807
remote.log.manager.copy.quota.window.num INT 11
remote.log.manager.copy.quota.window.size.seconds INT 1
remote.log.manager.expiration.thread.pool.size* INT 10
remote.log.manager.fetch.max.bytes.per.second* LONG 9223372036854775807
remote.log.manager.fetch.quota.window.num INT 11
remote.log.manager.fetch.quota.window.size.seconds INT 1
remote.log.manager.follower.thread.pool.size* INT 2
remote.log.manager.task.interval.ms LONG 30000
remote.log.manager.thread.pool.size INT 2
remote.log.metadata.custom.metadata.max.bytes INT 128
remote.log.metadata.manager.class.name STRING
remote.log.metadata.manager.class.path STRING
remote.log.metadata.manager.impl.prefix STRING rlmm.config.
remote.log.metadata.manager.listener.name STRING
remote.log.reader.max.pending.tasks INT 100
remote.log.reader.threads* INT 10
remote.log.storage.manager.class.name STRING
remote.log.storage.manager.class.path STRING
remote.log.storage.manager.impl.prefix STRING rsm.config.
remote.log.storage.system.enable BOOLEAN false
replica.socket.receive.buffer.bytes INT 65536
sasl.client.callback.handler.class CLASS
sasl.kerberos.kinit.cmd* STRING /usr/bin/kinit
sasl.kerberos.min.time.before.relogin* LONG 60000
sasl.kerberos.principal.to.local.rules* LIST DEFAULT
sasl.kerberos.service.name* STRING
sasl.kerberos.ticket.renew.jitter* DOUBLE 0.05
sasl.kerberos.ticket.renew.window.factor* DOUBLE 0.8
sasl.login.callback.handler.class CLASS
sasl.login.class CLASS
sasl.login.connect.timeout.ms INT
sasl.login.read.timeout.ms INT
sasl.login.refresh.buffer.seconds* SHORT 300
sasl.login.refresh.min.period.seconds* SHORT 60
sasl.login.refresh.window.factor* DOUBLE 0.8
sasl.login.refresh.window.jitter* DOUBLE 0.05
sasl.login.retry.backoff.max.ms LONG 10000
sasl.login.retry.backoff.ms LONG 100
sasl.oauthbearer.assertion.algorithm STRING RS256
sasl.oauthbearer.assertion.claim.aud STRING
sasl.oauthbearer.assertion.claim.exp.seconds INT 300
sasl.oauthbearer.assertion.claim.iss STRING
sasl.oauthbearer.assertion.claim.jti.include BOOLEAN false
sasl.oauthbearer.assertion.claim.nbf.seconds INT 60
sasl.oauthbearer.assertion.claim.sub STRING
sasl.oauthbearer.assertion.file STRING
sasl.oauthbearer.assertion.private.key.file STRING
sasl.oauthbearer.assertion.private.key.passphrase PASSWORD
sasl.oauthbearer.assertion.template.file STRING
sasl.oauthbearer.client.credentials.client.id STRING
sasl.oauthbearer.client.credentials.client.secret PASSWORD
sasl.oauthbearer.jwt.retriever.class CLASS
sasl.oauthbearer.scope STRING
sasl.oauthbearer.token.endpoint.url STRING
security.providers STRING
share.coordinator.append.linger.ms INT -1
share.coordinator.cached.buffer.max.bytes* INT 1048588
share.coordinator.state.topic.compression.codec INT 0
share.coordinator.threads INT 1
share.coordinator.write.timeout.ms INT 5000
socket.connection.setup.timeout.max.ms LONG 30000
socket.connection.setup.timeout.ms LONG 10000
ssl.engine.factory.class* CLASS
ssl.keymanager.algorithm* STRING SunX509
ssl.provider* STRING
ssl.secure.random.implementation* STRING
ssl.trustmanager.algorithm* STRING PKIX
transaction.two.phase.commit.enable BOOLEAN false
unclean.leader.election.enable* BOOLEAN false
"""


@cache
def foreign_table() -> dict[str, Option]:
    """Every one of them by its name. Made when first asked for: few need it."""
    return {known.name: known for known in map(_read, _TABLE.strip().splitlines())}


def _read(line: str) -> Option:
    name, kind, *default = line.split()
    value = default[0].strip('"') if default else None
    return Option(
        name.rstrip("*"), Kind[kind], value, "", is_dynamic=name.endswith("*")
    )
