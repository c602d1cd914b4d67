"""Which requests a rule is for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from odradek.broker.control.apis import API_NAMES, about, key_of_api, name_of_api
from odradek.broker.control.fields import Fields, refusal
from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.schema import REQUESTS
from odradek.terminal.spelling import did_you_mean

from .when import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.broker.control.subject import Subject
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.protocol.headers import RequestHeader

_PATTERN = frozenset("*?[")
# Names that say whose a request is, the clearest first.
_OWNED = ("topic", "group", "transactional_id")


@dataclass(frozen=True, slots=True)
class Match:
    """What a request must be; None where it does not matter. Names are patterns."""

    api: int | None = None
    version: int | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None
    client_id: str | None = None
    connection: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any], metadata: Topics) -> Match:
        """What a request says.

        Raises:
            AdminError: it makes no sense, or nothing can match.
        """
        fields = Fields(given, elsewhere=NAMES)
        api = fields.text("api", None)
        match = cls(
            None if api is None else key_of_api(api),
            fields.number("version", None, at_least=0),
            fields.text("topic", None),
            fields.number("partition", None, at_least=0),
            fields.text("group", None),
            fields.text("transactional_id", None),
            fields.text("client_id", None),
            fields.text("connection", None),
        )
        fields.end()
        match._check_api()
        match._check_topic(metadata)
        return match

    @property
    def api_keys(self) -> Iterable[int]:
        """The APIs that are meant."""
        if self.api is not None:
            return (self.api,)
        named = {
            kind: getattr(self, kind) is not None
            for kind in ("topic", "group", "transactional_id")
        }
        return [
            key
            for key in API_NAMES.values()
            if all(kind in about(key) for kind, is_named in named.items() if is_named)
        ]

    @property
    def names_places(self) -> bool:
        """Whether only some of a request's topics or partitions are meant."""
        return self.topic is not None or self.partition is not None

    def admits(
        self, header: RequestHeader, connection: ConnectionInfo, subject: Subject
    ) -> bool:
        """Whether a request is meant."""
        if self.version not in (None, header.api_version):
            return False
        if self.client_id is not None and not is_like(
            header.client_id or "", self.client_id
        ):
            return False
        peer = f"{connection.peer_host}:{connection.peer_port}"
        return (
            self.connection in (None, peer)
            and _any_like(subject.groups, self.group)
            and _any_like(subject.transactional_ids, self.transactional_id)
            and self._admits_places(subject)
        )

    def has_place(self, topic: str, partition: int | None) -> bool:
        """Whether a partition is meant; None: whether one of the topic may be."""
        if self.topic is not None and not is_like(topic, self.topic):
            return False
        return self.partition is None or partition in (None, self.partition)

    def has_key(self, key: str) -> bool:
        """Whether a group or transactional id is meant."""
        patterns = [each for each in (self.group, self.transactional_id) if each]
        return not patterns or any(is_like(key, each) for each in patterns)

    def within(self, scope: str) -> Match:
        """The same, for topics and ids alone whose names begin with ``scope``.

        Raises:
            AdminError: others would be concerned as well.
        """
        named = [name for name in _OWNED if getattr(self, name) is not None]
        for name in named:
            value = getattr(self, name)
            if not value.startswith(scope):
                raise _shared(f"{name} {value!r} is not of this test")
        if named or self._is_of_one_client:
            return self
        kinds = frozenset[str]() if self.api is None else about(self.api)
        for name in _OWNED:
            if name in kinds:
                owned: Any = {name: f"{scope}*"}
                return replace(self, **owned)
        what = "any request" if self.api is None else name_of_api(self.api)
        raise _shared(
            f"a rule for {what} is for all clients, unless it has a client_id"
        )

    @property
    def _is_of_one_client(self) -> bool:
        client_id = self.client_id
        is_client = client_id is not None and not _PATTERN & set(client_id)
        return is_client or self.connection is not None

    def shown(self) -> dict[str, Any]:
        """What was said, for an answer in JSON."""
        said = {name: getattr(self, name) for name in self.__slots__}
        if self.api is not None:
            said["api"] = name_of_api(self.api)
        return {name: value for name, value in said.items() if value is not None}

    def _admits_places(self, subject: Subject) -> bool:
        if not self.names_places or subject.is_all:
            return True
        return any(
            self.has_place(topic, number)
            for topic, numbers in subject.topics.items()
            for number in (numbers or (None,))
        )

    def _check_api(self) -> None:
        if self.api is None:
            return
        name, kinds = name_of_api(self.api), about(self.api)
        for kind in ("topic", "group", "transactional_id"):
            if getattr(self, kind) is not None and kind not in kinds:
                raise refusal(f"{name} says nothing of a {kind}: this matches nothing")
        if self.partition is not None and "partition" not in kinds:
            raise refusal(f"{name} says nothing of a partition: this matches nothing")
        first, last = REQUESTS[self.api].min_version, REQUESTS[self.api].max_version
        if self.version is not None and not first <= self.version <= last:
            raise refusal(f"{name} has versions {first} to {last}, not {self.version}")

    def _check_topic(self, metadata: Topics) -> None:
        """One that is not there yet may still come; but not a partition of it."""
        if self.topic is None or self.partition is None or _PATTERN & set(self.topic):
            return
        topic = metadata.get(self.topic)
        if topic is None:
            meant = did_you_mean(self.topic, [each.name for each in metadata])
            hint = f"; did you mean {meant}?" if meant else ""
            raise refusal(f"there is no topic {self.topic!r}{hint}")
        count = len(topic.partitions)
        if self.partition >= count:
            has = f"partitions 0 to {count - 1}" if count > 1 else "only partition 0"
            raise refusal(f"{self.topic} has {has}, not {self.partition}")


def is_like(name: str, pattern: str) -> bool:
    """Whether a name is as a pattern says, or the same as it."""
    return name == pattern or fnmatchcase(name, pattern)


def _shared(why: str) -> AdminError:
    text = f"{why}, and other tests use this broker: take a broker of its own"
    return AdminError("shared-broker", f"{text} (odradek_own)")


def _any_like(names: Iterable[str], pattern: str | None) -> bool:
    return pattern is None or any(is_like(name, pattern) for name in names)
