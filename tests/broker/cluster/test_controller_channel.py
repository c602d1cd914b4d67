from typing import Any

import pytest

from odradek.broker.cluster.controller_channel import ControllerChannel, is_elsewhere
from odradek.client.address import Address
from odradek.client.errors import Unreachable
from odradek.protocol.errors import SaslAuthenticationFailed
from odradek.protocol.messages.brokers import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.messages.topics import CreatableTopicResult, CreateTopicsResponse

FIRST, SECOND = Address("controller-1", 9093), Address("controller-2", 9093)


class World:
    """Controllers, of which one leads."""

    def __init__(self) -> None:
        self.leader: Address | None = FIRST
        self.opened: list[Address] = []
        self.closed: list[Address] = []
        self.left: list[Address] = []
        self.error: Exception | None = None
        self.refusal: Exception | None = None
        self.channel = ControllerChannel("test", lambda: self.leader, self.connect)

    def connect(self, address: Address) -> Any:
        if self.refusal is not None:
            raise self.refusal
        self.opened.append(address)
        return Link(self, address)

    async def ask(self) -> Any:
        return await self.channel.ask(EnvelopeRequest(), EnvelopeResponse, 1.0)


class Link:
    api_versions: Any = {}  # noqa: RUF012 - nobody changes it

    def __init__(self, world: World, address: Address) -> None:
        self._world, self._address = world, address

    def wait_for(self, timeout_s: float) -> None:
        pass

    def request(self, request: Any, response_class: Any) -> Any:
        if self._world.error is not None:
            raise self._world.error
        return self._address

    def hang_up(self) -> None:
        self._world.left.append(self._address)

    def close(self) -> None:
        self._world.closed.append(self._address)


async def test_one_connection_to_whoever_leads() -> None:
    world = World()
    assert [await world.ask(), await world.ask()] == [FIRST, FIRST]
    world.leader = SECOND
    assert await world.ask() == SECOND
    assert (world.opened, world.closed) == ([FIRST, SECOND], [FIRST])
    world.channel.close()


async def test_versions_are_those_of_who_was_connected_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    assert world.channel.api_versions == {}
    monkeypatch.setattr(Link, "api_versions", {58: (0, 0)})
    await world.ask()
    assert world.channel.api_versions == {58: (0, 0)}
    world.channel.close()


async def test_nobody_is_asked_while_nobody_leads() -> None:
    world = World()
    world.leader = None
    with pytest.raises(Unreachable, match="nobody leads"):
        await world.ask()
    world.channel.close()


async def test_a_login_that_is_refused_is_a_controller_that_is_not_there() -> None:
    world = World()
    world.refusal = SaslAuthenticationFailed("wrong password")
    with pytest.raises(Unreachable, match="controller-1:9093: wrong password"):
        await world.ask()
    world.refusal = None
    assert await world.ask() == FIRST
    world.channel.close()


async def test_a_connection_that_fails_is_not_used_again() -> None:
    world = World()
    world.error = ConnectionResetError(104, "Connection reset by peer")
    with pytest.raises(ConnectionResetError):
        await world.ask()
    world.error = None
    assert await world.ask() == FIRST
    assert (world.opened, world.closed) == ([FIRST, FIRST], [FIRST])
    world.channel.close()


async def test_nobody_waits_for_who_leads_no_more() -> None:
    world = World()
    world.channel.drop_former_leader()  # nobody was asked yet
    await world.ask()
    world.channel.drop_former_leader()
    assert world.left == []
    world.leader = SECOND
    world.channel.drop_former_leader()
    assert world.left == [FIRST]
    world.channel.close()


def test_which_answers_are_those_of_a_former_leader() -> None:
    made = CreateTopicsResponse(topics=[CreatableTopicResult(name="a")])
    moved = CreateTopicsResponse(topics=[CreatableTopicResult(error_code=41)])
    for former in (EnvelopeResponse(error_code=41), moved):
        assert is_elsewhere(former)
    for other in (EnvelopeResponse(error_code=42), made):
        assert not is_elsewhere(other)
