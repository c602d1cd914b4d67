"""``throttle``, ``versions``, ``leader``, ``no_coordinator``: what clients are told.

``throttle`` says for how many ``ms`` a client must be quiet, and does not read it as
long. ``versions`` offers the API of ``match`` up to version ``max`` (from ``min``) to
clients that ask from then on. ``leader`` names another node (``id``, by default -1:
none) as the leader of the partitions, and requests for them are refused with
NOT_LEADER_OR_FOLLOWER; ``host`` and ``port`` say where that node is. With
``no_coordinator`` a group or transactional id has none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from odradek.broker.control.apis import name_of_api
from odradek.broker.control.fields import Fields, refusal
from odradek.broker.control.subject import is_topic, name_of, number_of, parts_of
from odradek.broker.requests.offered import OFFERED
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.schema import RESPONSES

from .action import Action
from .codes import KEY, PARTITION, WHOLE, places_of
from .errors import put_error
from .refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.requests.dispatch import Exchange

    from .call import Call, Proceed
    from .match import Match

_THROTTLE_MS_MAX = 600_000
_DESCRIBING = (ApiKey.METADATA, ApiKey.DESCRIBE_TOPIC_PARTITIONS)
_LED = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DELETE_RECORDS,
)
_OF_GROUPS = (
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.TXN_OFFSET_COMMIT,
)
_OF_TRANSACTIONS = (
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
)


class Throttle(Action):
    """Says how long the client must be quiet."""

    name = "throttle"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.ms = fields.number("ms", at_least=1, at_most=_THROTTLE_MS_MAX)
        fields.end()
        if match.api is None:
            raise refusal("throttle needs the api whose answers say so")
        if not hasattr(RESPONSES[match.api], "throttle_time_ms"):
            raise refusal(f"{name_of_api(match.api)} has no throttle_time_ms")

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """As a quota would (KIP-219)."""

        def tell(response: Any) -> Any:
            response.throttle_time_ms = self.ms
            call.connection.mute(self.ms)
            return response

        return call.changed(proceed(call.frame), tell)


class Versions(Action):
    """Offers fewer versions of an API."""

    name = "versions"

    def __init__(self, fields: Fields, match: Match) -> None:
        if match.api is None:
            raise refusal("versions needs the api that is offered less of")
        self.max = fields.number("max", at_least=0)
        self.min = fields.number("min", 0, at_least=0, at_most=self.max)
        fields.end()
        self._api = match.api
        first, last, _ = OFFERED[match.api]
        if (self.min <= first and self.max >= last) or self.min > last:
            raise refusal(
                f"{name_of_api(match.api)} is offered in versions {first} to {last}, "
                f"and {self.min} to {self.max} are not some of them"
            )

    def api_keys(self, match: Match) -> Iterable[int]:
        """Who asks for versions is told."""
        return (ApiKey.API_VERSIONS,)

    def match_of(self, match: Match) -> Match:
        """Of any client that is meant."""
        return replace(match, api=None, version=None)

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """As a broker that is older."""

        def limit(response: Any) -> Any:
            for each in response.api_keys:
                if each.api_key == self._api:
                    each.max_version = min(each.max_version, self.max)
                    each.min_version = max(each.min_version, self.min)
            return response

        return call.changed(proceed(call.frame), limit)


class Leader(Action):
    """Has the partitions led by another node, or by none."""

    name = "leader"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.id = fields.number("id", -1, at_least=-1)
        self.host = fields.text("host", None)
        self.port = fields.number("port", None, at_least=1, at_most=65535)
        fields.end()
        if match.api is not None or match.topic is None:
            raise refusal("leader needs a topic, and no api")
        if (self.host is None) is not (self.port is None):
            raise refusal("host and port belong together")
        self._match = match

    def api_keys(self, match: Match) -> Iterable[int]:
        """Those that tell of leaders, and those that only a leader answers."""
        return (*_DESCRIBING, *_LED)

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """As if this node did not lead them."""
        if call.header.api_key in _DESCRIBING:
            return call.changed(proceed(call.frame), lambda it: self._told(call, it))
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        refusal = Refusal(self._match, PARTITION, code, call.services)
        return put_error(call, proceed, refusal, code, PARTITION)

    def _told(self, call: Call, response: Any) -> Any:
        for topic in response.topics:
            assert is_topic(topic)
            for each in parts_of(topic):
                name = name_of(topic, call.services)
                if self._match.has_place(name, number_of(each)):
                    each.leader_id = self.id
                    if self.id < 0:
                        each.error_code = int(ErrorCode.LEADER_NOT_AVAILABLE)
        brokers = getattr(response, "brokers", None)
        if self.host is not None and brokers:
            there = type(brokers[0])(node_id=self.id, host=self.host, port=self.port)
            response.brokers = [*brokers, there]
        return response


class NoCoordinator(Action):
    """Has nobody coordinate a group or a transactional id."""

    name = "no_coordinator"

    def __init__(self, fields: Fields, match: Match) -> None:
        fields.end()
        if match.api is not None or (match.group or match.transactional_id) is None:
            raise refusal("no_coordinator needs a group or transactional_id, no api")
        self._match = match

    def api_keys(self, match: Match) -> Iterable[int]:
        """Who asks for it, and what only a coordinator answers."""
        of_it = _OF_TRANSACTIONS if match.group is None else _OF_GROUPS
        return (ApiKey.FIND_COORDINATOR, *of_it)

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """As while the partition of a coordinator has no leader."""
        code, api_key = ErrorCode.NOT_COORDINATOR, call.header.api_key
        place = next(iter(places_of(name_of_api(api_key))), WHOLE)
        if api_key == ApiKey.FIND_COORDINATOR:
            code, place = ErrorCode.COORDINATOR_NOT_AVAILABLE, KEY
        refusal = Refusal(self._match, place, code, call.services)
        return put_error(call, proceed, refusal, code, place)
