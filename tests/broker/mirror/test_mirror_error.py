from odradek.broker.mirror.mirror_error import MirrorError


def test_it_is_what_is_said() -> None:
    assert str(MirrorError("there is no mirror m")) == "there is no mirror m"
