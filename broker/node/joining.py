"""A broker becomes one of a cluster: its parts for that, and their order at the start.

A broker that is all of its own cluster loads none of this.
"""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.config.cluster_options import cluster_options
from odradek.broker.durability.committer import COMMIT
from odradek.broker.runtime.start_error import StartError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import random_uuid
from odradek.storage.directory.log_directory import NO_EPOCH

from .cluster_coordinators import ClusterCoordinators
from .connecting import connecting_to_brokers, connecting_to_controllers, endpoints_of

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping

    from odradek.broker.cluster.coordination.cluster_brokers import ClusterBrokers
    from odradek.broker.cluster.directories.told_directories import ToldDirectories
    from odradek.broker.cluster.fetchers.fetchers import Fetchers
    from odradek.broker.cluster.forwarding import Look
    from odradek.broker.cluster.images.given_away import GivenAway
    from odradek.broker.cluster.images.member_topics import MemberTopics
    from odradek.broker.cluster.images.publisher import Publisher
    from odradek.broker.cluster.peers import Peers
    from odradek.broker.cluster.registration.kept_epoch import KeptEpoch
    from odradek.broker.cluster.registration.member import Member
    from odradek.broker.cluster.registration.membership import Identity
    from odradek.broker.cluster.throttles import Throttles
    from odradek.broker.cluster.view import ClusterView
    from odradek.broker.config.cluster_options import ClusterOptions
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.quorum.image.image import MetadataImage
    from odradek.broker.replica.partition.replica_state import LeaderAndIsr
    from odradek.client.address import Address

    from .parts import Parts


class Joining:
    """The broker's place in its cluster, from the start to the stop."""

    def __init__(self, config: BrokerConfig, services: Parts) -> None:
        from odradek.broker.cluster.images.member_topics import MemberTopics
        from odradek.broker.cluster.peers import Peers
        from odradek.broker.cluster.registration.kept_epoch import KeptEpoch
        from odradek.broker.cluster.registration.member import Member
        from odradek.broker.cluster.throttles import make_throttles
        from odradek.broker.replica.decisions import Decisions
        from odradek.client.address import Address

        options = cluster_options(config)
        self._services = services
        topics = services.metadata
        self._epoch: KeptEpoch = KeptEpoch(
            services.log_manager,
            services.disk_threads,
            outlives_kills=config.durability == COMMIT,
        )
        assert isinstance(topics, MemberTopics)
        identity = self._identity(config)
        self.member: Member = Member(
            identity,
            [Address(each.host, each.port) for each in options.controllers],
            options,
            connecting_to_controllers(config, options),
            services.clock,
            services.bugs,
        )
        self._topics: MemberTopics = topics
        self._given_away: GivenAway = _given_away_of(services)
        self._decisions = Decisions(
            services.node_id,
            services.replica_manager,
            lambda place: self._publisher.decided(place),
        )
        self._publisher: Publisher = self._make_publisher()
        self._peers: Peers = Peers(
            services.node_id,
            options.lag_max_ms,
            self._publisher,
            self.member,
            services.clock,
            services.bugs,
        )
        services.replica_manager.cluster = self._peers
        self._directories: ToldDirectories = self._make_directories(options)
        self._throttles: Throttles = make_throttles(
            services.node_id, topics, services.clock, self._publisher
        )
        self._fetchers: Fetchers = self._make_fetchers(config, options)
        self._decisions.leaders = self._fetchers
        self._brokers: ClusterBrokers = self._make_brokers(config, options)
        self._tasks: list[asyncio.Task[None]] = []
        topics.controller = self.member
        services.cluster = self._make_view(config)

    def _make_view(self, config: BrokerConfig) -> ClusterView:
        from odradek.broker.cluster.forwarding import Forwarding
        from odradek.broker.cluster.read_replicas import RackAwareReplicas
        from odradek.broker.cluster.standing import Standing
        from odradek.broker.cluster.view import ClusterView

        return ClusterView(
            self._publisher,
            Forwarding(self.member, _looks_before_forwarding()),
            Standing(self.member, self._peers.counts, self._fetchers),
            self._throttles,
            RackAwareReplicas(config.broker_rack) if config.reads_by_rack else None,
        )

    def _make_publisher(self) -> Publisher:
        from odradek.broker.cluster.images.publisher import Publisher

        services = self._services
        return Publisher(
            self._topics,
            services.resources,
            self._decisions,
            ClusterCoordinators(services),
            self,
            services.node_id,
        )

    def _make_directories(self, options: ClusterOptions) -> ToldDirectories:
        from odradek.broker.cluster.directories.told_directories import ToldDirectories

        services = self._services
        return ToldDirectories(
            services.log_manager,
            self._topics,
            self._publisher,
            self.member,
            services.clock,
            services.bugs,
            options.directory_failure_timeout_ms,
        )

    def _identity(self, config: BrokerConfig) -> Identity:
        from odradek.broker.cluster.registration.membership import Identity

        directories = self._services.log_manager.directories
        usable = [each for each in directories if each.failure is None]
        directory_ids = [each.directory_id for each in usable]
        return Identity(
            self._services.node_id,
            self._services.cluster_id,
            random_uuid(),
            endpoints_of(config),
            tuple(each for each in directory_ids if each is not None),
            config.broker_rack,
            self._epoch.previous,
        )

    def _address_of(self, listener_name: str, broker_id: int) -> Address | None:
        """Others are reached on the listener of theirs with the name of ours."""
        from odradek.broker.cluster.fetchers.fetchers import address_in

        return address_in(self._publisher.image, broker_id, listener_name)

    def _make_brokers(
        self, config: BrokerConfig, options: ClusterOptions
    ) -> ClusterBrokers:
        """The others, for coordinators; with them, what is on is no choice of ours."""
        from odradek.broker.cluster.coordination.cluster_brokers import ClusterBrokers
        from odradek.broker.cluster.features import CLAIMED

        services = self._services
        services.features.supported = CLAIMED
        found = ClusterBrokers(
            services.node_id,
            self._publisher,
            partial(self._address_of, options.listener_name),
            connecting_to_brokers(config, options),
            services.bugs,
            services.client_log,
        )
        services.other_brokers = found
        services.transactions.use_brokers(found)
        return found

    def _make_fetchers(self, config: BrokerConfig, options: ClusterOptions) -> Fetchers:
        from odradek.broker.cluster.fetchers.fetch_settings import fetch_settings
        from odradek.broker.cluster.fetchers.fetchers import Fetchers
        from odradek.broker.cluster.fetchers.replica_fetcher import FollowerParts
        from odradek.broker.replica.follower_replicas import FollowerReplicas

        services = self._services
        replicas = FollowerReplicas(
            services.replica_manager,
            services.log_manager,
            services.metadata,
            services.clock,
        )
        fetchers = Fetchers(
            FollowerParts(
                services.node_id,
                replicas,
                lambda: self.member.broker_epoch,
                services.clock,
                services.bugs,
                fetch_settings(services.config),
                self._throttles.follower,
            ),
            partial(self._address_of, options.listener_name),
            connecting_to_brokers(config, options),
        )

        def follow(config: BrokerConfig) -> None:
            fetchers.spread(config.num_replica_fetchers)
            self._throttles.follow(config)

        follow(services.config)
        services.live.watch(follow)
        return fetchers

    async def join(self) -> None:
        """Register, and apply what was decided before.

        Raises:
            StartError: the cluster will not have us.
        """
        services, membership = self._services, self.member.membership
        identity = membership.identity
        if identity.previous_epoch != NO_EPOCH and await self._epoch.forget_if_lost(
            self._topics, services.replica_manager, services.bugs
        ):
            # Not of that from before: a directory may have failed meanwhile.
            identity = membership.identity._replace(previous_epoch=NO_EPOCH)
            membership.identity = identity
        await self.member.join(self._publish, self._topics.read_until)
        self._go_on(self._directories.asked.run(), "places of partitions")

    async def _publish(self, before: MetadataImage, after: MetadataImage) -> None:
        await self._publisher.publish(before, after)
        self._brokers.look_again()
        if before.brokers is not after.brokers:
            self._decisions.look_again()
        if self.member.broker_epoch != NO_EPOCH:
            await self._epoch.keep(self.member.broker_epoch)

    async def serve(self) -> None:
        """Clients can connect: let the controllers know.

        Raises:
            StartError: they keep us away from clients.
        """
        from odradek.broker.cluster.registration.membership import Stage

        self._go_on(self._peers.asked.run(), "in-sync replicas")
        self._services.scheduler.every(
            max(self._peers.lag_max_ms // 2, 1),
            "in-sync replicas",
            self._look_around,
        )
        try:
            await self.member.serve()
        except StartError:
            if self.member.membership.stage is Stage.SERVING:
                await self.leave()  # clients may be here: others are to lead
            raise
        self.member.failed.add_done_callback(_stop)
        if self._services.authorizer is not None:
            from odradek.broker.cluster.rights import warn_of_open_controllers

            self._go_on(
                warn_of_open_controllers(self.member), "authorizer of controllers"
            )

    def _go_on(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.append(task)

    def _look_around(self) -> None:
        self._decisions.shrink()
        self._directories.look_at_offline()

    @property
    def has_failed(self) -> bool:
        """Whether the broker cannot be one of the cluster any more."""
        return self.member.failed.done()

    async def leave(self) -> None:
        """Stop, once others have what this broker leads."""
        # We stop already: a signal of our own would be the second, which ends at once.
        self.member.failed.remove_done_callback(_stop)
        await self.member.leave()
        await self._fetchers.stop()

    async def close(self) -> None:
        """Be no broker of the cluster any more."""
        self.member.failed.remove_done_callback(_stop)  # if we were never to leave
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.member.close()  # first: until then an image may be applied
        await self._fetchers.stop()
        await self._brokers.close()

    # What follows from what was decided (Actions)

    async def delete_topics(self, topic_ids: Iterable[bytes], *, keeps: bool) -> None:
        """These are gone. ``keeps``: they were already when this broker started."""
        from odradek.broker.handlers.topics.topic_deletion import delete_topics

        gone = list(filter(None, map(self._topics.by_id, topic_ids)))
        for topic in gone:
            for each in topic.partitions:
                self._fetchers.forget(TopicPartition(topic.name, each.partition))
        if keeps:
            gone = await self._given_away.set_topics_aside(gone)
        await delete_topics(self._services, [each.topic_id for each in gone])

    async def publish_rights(self, before: MetadataImage, after: MetadataImage) -> None:
        """Who may do what, and delegation tokens, where this broker asks for them."""
        from odradek.broker.cluster.rights import publish_acls, publish_tokens

        services = self._services
        if services.authorizer is not None:
            await publish_acls(services.authorizer.acls, before, after)
        if services.tokens is not None:
            await publish_tokens(services.tokens, before, after)

    def note_recovered(
        self, topic_id: bytes, number: int, decided: LeaderAndIsr
    ) -> None:
        """What an unclean election has left to us is in order: say so."""
        self._peers.note_recovered(topic_id, number, decided)

    def look_at_directories(self, places: Iterable[TopicPartition]) -> None:
        """See whether the controllers know in which directories these are."""
        self._directories.look(places)

    async def give_away(self, gone: Iterable[TopicPartition], *, keeps: bool) -> None:
        """This broker is no replica of these. ``keeps``: nor was it when it started."""
        await self._given_away.take_away(gone, keeps=keeps)


def _given_away_of(services: Parts) -> GivenAway:
    from odradek.broker.cluster.images.given_away import GivenAway

    return GivenAway(
        services.metadata,
        services.replica_manager,
        services.log_manager,
        services.committer,
        services.disk_threads,
        services.clock,
    )


def _looks_before_forwarding() -> Mapping[int, Look]:
    """Of requests that are for the controllers, what they leave to brokers."""
    from odradek.broker.handlers.options.configs_in_cluster import (
        alter_configs_in_cluster,
    )
    from odradek.broker.handlers.security.delegation_tokens import (
        ask_for_tokens_in_cluster,
    )

    return {
        ApiKey.ALTER_CONFIGS: alter_configs_in_cluster,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: alter_configs_in_cluster,
        ApiKey.CREATE_DELEGATION_TOKEN: ask_for_tokens_in_cluster,
        ApiKey.RENEW_DELEGATION_TOKEN: ask_for_tokens_in_cluster,
        ApiKey.EXPIRE_DELEGATION_TOKEN: ask_for_tokens_in_cluster,
    }


def _stop(_: asyncio.Future[str]) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
