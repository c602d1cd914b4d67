from odradek.broker.network.held_memory import HeldMemory
from tests.fakes.network import fake_network


class Holder:
    def memory_freed(self) -> None:
        """Not looked at here."""

    def room_made(self) -> None:
        """Not looked at here."""


def test_changes_are_counted_for_all() -> None:
    network, _ = fake_network()
    first, second = HeldMemory(network, "one"), HeldMemory(network, "two")
    first.count_requests(100)
    second.count_requests(50)
    first.count_requests(70)
    second.count_answers(500)
    assert (network.memory.used, network.answers.used) == (120, 500)
    first.release(Holder())
    second.release(Holder())
    assert (network.memory.used, network.answers.used) == (0, 0)
    assert (first.requests_size, second.answers_size) == (0, 0)


def test_who_must_wait_for_memory_is_named() -> None:
    log: list[str] = []
    network, _ = fake_network(log=log.append, queued_max_request_bytes=10)
    first, second = HeldMemory(network, "one"), HeldMemory(network, "two")
    first.count_requests(20)
    assert not first.must_wait(Holder())
    assert second.must_wait(Holder())
    assert log == ["two is not read until there is memory again for requests"]
    assert network.log.hits == {"queued.max.request.bytes": 1}


def test_who_leaves_answers_unread_is_named_when_memory_is_short() -> None:
    log: list[str] = []
    network, _ = fake_network(log=log.append, queued_max_response_bytes=100)
    memory = HeldMemory(network, "one")
    memory.count_answers(75)
    memory.wait_for_room(Holder())
    assert (log, network.answers.waiting_count) == ([], 0)
    memory.count_answers(76)
    memory.count_answers(100)
    memory.count_answers(99)
    memory.count_answers(100)
    memory.wait_for_room(Holder())
    assert log[0].startswith("one leaves answers unread")
    assert network.log.hits == {"queued.max.response.bytes": 4}
    assert network.answers.waiting_count == 1


def test_what_two_connections_have_to_send_counts_once() -> None:
    network, _ = fake_network()
    records = bytes(100_000)
    first, second = HeldMemory(network, "one"), HeldMemory(network, "two")
    for memory in (first, second):
        memory.hold(100_050, [bytes(50), records])
    assert network.answers.used == 100_100
    first.let_go()
    first.count_answers(0)
    assert network.answers.used == 100_050
    second.release(Holder())
    first.release(Holder())
    assert network.answers.used == 0
