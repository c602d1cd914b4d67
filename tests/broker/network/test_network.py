from tests.fakes.client import Client


async def test_small_requests_of_all_connections_come_through_one_chunk() -> None:
    first = Client()
    second = Client(first.listener)
    buffers = [each.connection.get_buffer(-1) for each in (first, second)]
    buffers[0][:1] = b"x"
    assert bytes(buffers[1][:1]) == b"x"
