"""Records that lead to an image: what a snapshot of it has."""

from collections.abc import Iterator

from odradek.broker.quorum.image.image import (
    BrokerImage,
    Endpoint,
    MetadataImage,
    TopicImage,
)
from odradek.protocol.membership_records import (
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RegisteredEndpoint,
    RegisteredFeature,
)
from odradek.protocol.metadata_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    QuotaEntityData,
    TopicRecord,
    UserScramCredentialRecord,
)
from odradek.protocol.schema import Message


def records_of(image: MetadataImage) -> Iterator[Message]:
    for name, level in image.features.items():
        yield FeatureLevelRecord(name=name, feature_level=level)
    for broker in image.brokers.values():
        yield _broker(broker)
    for controller in image.controllers.values():
        yield RegisterControllerRecord(
            controller_id=controller.controller_id,
            incarnation_id=controller.incarnation_id,
            end_points=_endpoints(controller.endpoints),
        )
    for topic in image.topics.values():
        yield from _topic(topic)
    for resource, options in image.options.items():
        for name, value in options.items():
            yield ConfigRecord(
                resource_type=resource.kind,
                resource_name=resource.name,
                name=name,
                value=value,
            )
    yield from _of_clients(image)
    yield ProducerIdsRecord(next_producer_id=image.next_producer_id)


def _broker(broker: BrokerImage) -> Message:
    return RegisterBrokerRecord(
        broker_id=broker.broker_id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=_endpoints(broker.endpoints),
        features=[
            RegisteredFeature(
                name=name,
                min_supported_version=each.level_min,
                max_supported_version=each.level_max,
            )
            for name, each in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.is_fenced,
        in_controlled_shutdown=broker.is_stopping,
        log_dirs=list(broker.directories),
        cordoned_log_dirs=list(broker.cordoned_directories),
    )


def _endpoints(endpoints: tuple[Endpoint, ...]) -> list[RegisteredEndpoint]:
    return [
        RegisteredEndpoint(
            name=each.name,
            host=each.host,
            port=each.port,
            security_protocol=each.security_protocol,
        )
        for each in endpoints
    ]


def _topic(topic: TopicImage) -> Iterator[Message]:
    yield TopicRecord(name=topic.name, topic_id=topic.topic_id)
    for number, each in topic.partitions.items():
        yield PartitionRecord(
            partition_id=number,
            topic_id=topic.topic_id,
            replicas=list(each.replicas),
            isr=list(each.isr),
            removing_replicas=list(each.removing_replicas),
            adding_replicas=list(each.adding_replicas),
            leader=each.leader,
            leader_recovery_state=each.leader_recovery_state,
            leader_epoch=each.leader_epoch,
            partition_epoch=each.partition_epoch,
            directories=list(each.directories),
            eligible_leader_replicas=list(each.elr),
            last_known_elr=list(each.last_known_elr),
        )


def _of_clients(image: MetadataImage) -> Iterator[Message]:
    for entity, quotas in image.quotas.items():
        parts = [QuotaEntityData(entity_type=kind, entity_name=n) for kind, n in entity]
        for key, value in quotas.items():
            yield ClientQuotaRecord(entity=parts, key=key, value=value)
    for (user, mechanism), found in image.credentials.items():
        yield UserScramCredentialRecord(
            name=user, mechanism=mechanism, **found._asdict()
        )
    for entry_id, entry in image.acls.items():
        fields = entry._asdict()
        fields["permission_type"] = fields.pop("permission")
        yield AccessControlEntryRecord(id=entry_id, **fields)
    for token_id, token in image.tokens.items():
        yield DelegationTokenRecord(
            owner=token.owner,
            requester=token.requester,
            renewers=list(token.renewers),
            issue_timestamp=token.issue_timestamp_ms,
            max_timestamp=token.max_timestamp_ms,
            expiration_timestamp=token.expiration_timestamp_ms,
            token_id=token_id,
        )
