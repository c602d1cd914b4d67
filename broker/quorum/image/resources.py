"""Records about options, quotas, users, rights, tokens, ids: applied to a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.uuids import to_text

from .error import MetadataLogError
from .image import Credential, OptionResource, TokenImage

if TYPE_CHECKING:
    from odradek.protocol.metadata_records import (
        AccessControlEntryRecord,
        ClientQuotaRecord,
        ConfigRecord,
        DelegationTokenRecord,
        ProducerIdsRecord,
        RemoveAccessControlEntryRecord,
        RemoveDelegationTokenRecord,
        RemoveUserScramCredentialRecord,
        UserScramCredentialRecord,
    )

    from .draft import Draft


def set_option(draft: Draft, record: ConfigRecord, _: int) -> None:
    """An option is set, or back to its default."""
    resource = OptionResource(record.resource_type, record.resource_name)
    options = dict(draft.options.get(resource) or {})
    options.pop(record.name, None)
    if record.value is not None:
        options[record.name] = record.value
    if options:
        draft.options.put(resource, options)
    else:
        draft.options.remove(resource)


def set_quota(draft: Draft, record: ClientQuotaRecord, _: int) -> None:
    """A quota is set, or removed."""
    parts = {each.entity_type: each.entity_name for each in record.entity}
    entity = tuple((kind, parts[kind]) for kind in sorted(parts))
    quotas = dict(draft.quotas.get(entity) or {})
    quotas.pop(record.key, None)
    if not record.remove:
        quotas[record.key] = record.value
    if quotas:
        draft.quotas.put(entity, quotas)
    else:
        draft.quotas.remove(entity)


def set_credential(draft: Draft, record: UserScramCredentialRecord, _: int) -> None:
    """A user has a password."""
    draft.credentials.put(
        (record.name, record.mechanism),
        Credential(
            bytes(record.salt),
            bytes(record.stored_key),
            bytes(record.server_key),
            record.iterations,
        ),
    )


def remove_credential(
    draft: Draft, record: RemoveUserScramCredentialRecord, _: int
) -> None:
    """A user has none by this mechanism."""
    draft.credentials.remove((record.name, record.mechanism))


def add_acl(draft: Draft, record: AccessControlEntryRecord, _: int) -> None:
    """There is an entry."""
    draft.acls.put(
        record.id,
        AclEntry(
            record.resource_type,
            record.resource_name,
            record.pattern_type,
            record.principal,
            record.host,
            record.operation,
            record.permission_type,
        ),
    )


def remove_acl(draft: Draft, record: RemoveAccessControlEntryRecord, _: int) -> None:
    """An entry is gone."""
    if draft.acls.get(record.id) is None:
        raise MetadataLogError(f"there is no access control entry {to_text(record.id)}")
    draft.acls.remove(record.id)


def set_token(draft: Draft, record: DelegationTokenRecord, _: int) -> None:
    """There is a token, or it holds until another time."""
    draft.tokens.put(
        record.token_id,
        TokenImage(
            record.owner,
            record.requester,
            tuple(record.renewers),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        ),
    )


def remove_token(draft: Draft, record: RemoveDelegationTokenRecord, _: int) -> None:
    """A token is gone."""
    draft.tokens.remove(record.token_id)


def give_producer_ids(draft: Draft, record: ProducerIdsRecord, _: int) -> None:
    """A broker got producer ids."""
    draft.next_producer_id = record.next_producer_id
