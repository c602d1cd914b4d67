from odradek.broker.quorum.image.error import MetadataLogError


def test_it_is_no_error_of_the_protocol_or_the_system() -> None:
    assert MetadataLogError.__mro__[1] is Exception
