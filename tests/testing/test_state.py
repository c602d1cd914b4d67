from odradek.testing.state import State


def test_items_are_found_by_their_names() -> None:
    offsets = [{"topic": "t", "partition": 0, "offset": 3, "lag": 2}]
    state = State(
        [
            {"kind": "broker", "connections": 1},
            {"kind": "partition", "topic": "t", "partition": 0, "high_watermark": 5},
            {"kind": "group", "group": "g", "state": "Stable", "offsets": offsets},
            {"kind": "transaction", "id": "x", "state": "Ongoing"},
            {"kind": "something new"},
        ]
    )
    assert state.broker == {"connections": 1}
    assert state.partitions["t", 0]["high_watermark"] == 5
    assert state.groups["g"]["state"] == "Stable"
    assert state.transactions["x"]["state"] == "Ongoing"
    assert state.lag("g") == {("t", 0): 2}
