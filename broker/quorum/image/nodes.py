"""Records about brokers, controllers, features and the quorum, applied to a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.membership_records import FENCED, UNFENCED

from .error import MetadataLogError
from .image import BrokerImage, ControllerImage, Endpoint, FeatureRange, Voter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.protocol.membership_records import (
        BrokerRegistrationChangeRecord,
        FenceBrokerRecord,
        RegisterBrokerRecord,
        RegisterControllerRecord,
        RegisteredEndpoint,
        RegisteredFeature,
        UnfenceBrokerRecord,
        UnregisterBrokerRecord,
    )
    from odradek.protocol.metadata_records import FeatureLevelRecord
    from odradek.protocol.quorum_records import VotersRecord

    from .draft import Draft


def register_broker(draft: Draft, record: RegisterBrokerRecord, _: int) -> None:
    """A process of a broker has come."""
    draft.brokers.put(
        record.broker_id,
        BrokerImage(
            record.broker_id,
            record.broker_epoch,
            record.incarnation_id,
            _endpoints(record.end_points),
            _features(record.features),
            record.rack,
            record.fenced,
            record.in_controlled_shutdown,
            tuple(record.log_dirs),
            tuple(record.cordoned_log_dirs or ()),
        ),
    )


def unregister_broker(draft: Draft, record: UnregisterBrokerRecord, _: int) -> None:
    """A broker is gone for good."""
    draft.brokers.remove(record.broker_id)


def fence_broker(draft: Draft, record: FenceBrokerRecord, _: int) -> None:
    """A broker is kept away from clients."""
    broker = _broker(draft, record.id, record.epoch)
    draft.brokers.put(record.id, broker._replace(is_fenced=True))


def unfence_broker(draft: Draft, record: UnfenceBrokerRecord, _: int) -> None:
    """Clients may go to a broker."""
    broker = _broker(draft, record.id, record.epoch)
    draft.brokers.put(record.id, broker._replace(is_fenced=False))


def change_broker(draft: Draft, record: BrokerRegistrationChangeRecord, _: int) -> None:
    """Something of a broker is different."""
    broker = _broker(draft, record.broker_id, record.broker_epoch)
    if record.fenced in (FENCED, UNFENCED):
        broker = broker._replace(is_fenced=record.fenced == FENCED)
    if record.in_controlled_shutdown:
        broker = broker._replace(is_stopping=True)
    if record.log_dirs:
        broker = broker._replace(directories=tuple(record.log_dirs))
    if record.cordoned_log_dirs is not None:
        broker = broker._replace(cordoned_directories=tuple(record.cordoned_log_dirs))
    draft.brokers.put(record.broker_id, broker)


def register_controller(draft: Draft, record: RegisterControllerRecord, _: int) -> None:
    """A controller has come."""
    draft.controllers.put(
        record.controller_id,
        ControllerImage(
            record.controller_id,
            record.incarnation_id,
            _endpoints(record.end_points),
            _features(record.features),
        ),
    )


def set_feature(draft: Draft, record: FeatureLevelRecord, offset: int) -> None:
    """The cluster has agreed on a level; 0 is none."""
    if record.feature_level:
        draft.features.put(record.name, record.feature_level)
    else:
        draft.features.remove(record.name)
    draft.features_offset = offset


def voters_of(record: VotersRecord) -> tuple[Voter, ...]:
    """Who votes, by id."""
    voters = [
        Voter(
            each.voter_id,
            each.voter_directory_id,
            tuple(Endpoint(at.name, at.host, at.port) for at in each.endpoints),
        )
        for each in record.voters
    ]
    return tuple(sorted(voters))


def _broker(draft: Draft, broker_id: int, epoch: int) -> BrokerImage:
    broker = draft.brokers.get(broker_id)
    if broker is None:
        raise MetadataLogError(f"broker {broker_id} is not registered")
    if broker.epoch != epoch:
        raise MetadataLogError(
            f"broker {broker_id} has epoch {broker.epoch}, not {epoch}"
        )
    return broker


def _endpoints(found: Iterable[RegisteredEndpoint]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(each.name, each.host, each.port, each.security_protocol)
        for each in found
    )


def _features(found: Iterable[RegisteredFeature]) -> dict[str, FeatureRange]:
    return {
        each.name: FeatureRange(each.min_supported_version, each.max_supported_version)
        for each in found
    }
