"""Which members of groups have begun to read what they were assigned.

A group is stable when its members have their partitions; but a consumer that reads from
the end ("latest") then asks where the end is, and does not see what is written before
that. From its first fetch on it misses nothing. Who waits for an assignment waits for
that fetch, of each of the partitions.

A fetch does not say of which group it is. It belongs to the member with its client id
and address; if several groups read a partition under the same, to one of them, and each
counts as reading when as many connections as there are such groups have fetched. What a
connection has once fetched for a group alone it fetches for that group from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.share.group import ShareGroup

from .group_members import assigned_of, client_of, generation_of, is_stable

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.coordinator.group.state.shard import Group
    from odradek.broker.metadata.topic_index import TopicIndex
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.protocol.topic_partition import TopicPartition

    from .fetch_watch import Fetching, FetchWatch

    Client = tuple[str, str]  # id and address
    Peer = tuple[str, int]


class Assigned:
    """What the members of one generation of a group have been assigned."""

    def __init__(self, group: Group, topics: TopicIndex) -> None:
        self.group = group
        self.generation_id = generation_of(group)
        self.clients = _clients(group, topics)
        # Members of a share group do not fetch: they have records handed out.
        self.unread = set() if isinstance(group, ShareGroup) else set(self.clients)
        self.readers: dict[TopicPartition, Peer] = {}  # those that are certain
        self.began: dict[TopicPartition, int] = {}  # where these have begun to read

    def is_of(self, group: Group) -> bool:
        """Whether it is what that group's members have now."""
        return self.group is group and self.generation_id == generation_of(group)


class Assignments:
    """The stable groups of a broker. Whoever waits is told by ``tell``."""

    def __init__(
        self, topics: TopicIndex, fetches: FetchWatch, tell: Callable[[], object]
    ) -> None:
        self._topics = topics
        self._fetches = fetches
        self._tell = tell
        self._by_group: dict[str, Assigned] = {}
        self._owners: dict[Peer, str] = {}
        # Those that have fetched, and may be of any of several groups.
        self._unowned: dict[tuple[TopicPartition, Client], set[Peer]] = {}

    def note_group(self, group: Group) -> None:
        """A group has entered another state, or something of it was written."""
        known = self._by_group.get(group.group_id)
        stable = is_stable(group)
        if known is not None:
            if stable and known.is_of(group):
                return
            del self._by_group[group.group_id]
            self._forget_unowned(known)
        if stable:
            assigned = Assigned(group, self._topics)
            self._by_group[group.group_id] = assigned
            self._forget_unowned(assigned)
        self._watch_or_rest()

    def note_gone(self, connection: ConnectionInfo) -> None:
        """A client is gone."""
        peer = connection.peer_host, connection.peer_port
        self._owners.pop(peer, None)
        for peers in self._unowned.values():
            peers.discard(peer)
        for assigned in self._by_group.values():
            for place in [at for at, of in assigned.readers.items() if of == peer]:
                del assigned.readers[place]

    def forget_all(self) -> None:
        """There are no groups any more."""
        self._by_group.clear()
        self._owners.clear()
        self._unowned.clear()
        self._watch_or_rest()

    def of(self, group: Group) -> Assigned:
        """What a stable group's members were assigned, and do not read yet."""
        assigned = self._by_group.get(group.group_id)
        if assigned is None or not assigned.is_of(group):
            self.note_group(group)  # it was loaded
            assigned = self._by_group[group.group_id]
        return assigned

    def note_fetch(self, fetch: Fetching) -> None:
        """A client has fetched."""
        client = fetch.client_id, fetch.peer[0]
        has_changed = False
        for place, offset in fetch.offsets.items():
            for assigned in self._readers(fetch.peer, client, place):
                has_changed |= place in assigned.unread
                assigned.unread.discard(place)
                if place in assigned.readers:
                    assigned.began.setdefault(place, offset)
        if has_changed:
            self._watch_or_rest()
            self._tell()

    def _readers(
        self, peer: Peer, client: Client, place: TopicPartition
    ) -> list[Assigned]:
        """The groups of which it is certain now that they read a partition."""
        groups = [
            each
            for each in self._by_group.values()
            if each.clients.get(place) == client
        ]
        owner = self._owners.get(peer)
        if owner is None:
            groups = [each for each in groups if place not in each.readers]
        else:
            groups = [each for each in groups if each.group.group_id == owner]
        if len(groups) == 1:
            self._owners[peer] = groups[0].group.group_id
            groups[0].readers[place] = peer
        if len(groups) <= 1:
            return groups
        unowned = self._unowned.setdefault((place, client), set())
        unowned.add(peer)
        return groups if len(unowned) >= len(groups) else []

    def _forget_unowned(self, assigned: Assigned) -> None:
        for place, client in assigned.clients.items():
            self._unowned.pop((place, client), None)

    def _watch_or_rest(self) -> None:
        is_wanted = any(each.unread for each in self._by_group.values())
        if is_wanted and not self._fetches.is_watching:
            self._fetches.begin(self.note_fetch)
        elif not is_wanted and self._fetches.is_watching:
            self._fetches.end()


def _clients(group: Group, topics: TopicIndex) -> dict[TopicPartition, Client]:
    """Who reads which partition."""
    clients = {}
    for member_id, places in assigned_of(group, topics).items():
        clients.update(dict.fromkeys(places, client_of(group.members[member_id])))
    return clients
