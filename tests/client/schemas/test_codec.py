from typing import TYPE_CHECKING

from odradek.broker.cli.records.codecs import PLAIN
from odradek.client.schemas.avro import AvroCodec

if TYPE_CHECKING:
    from odradek.client.schemas.codec import Codec


def test_whoever_is_a_codec_writes_what_it_reads() -> None:
    codecs: list[Codec] = [PLAIN["int32"], PLAIN["json"], AvroCodec(None, "", '"int"')]
    for codec in codecs:
        assert codec.decode(codec.encode(b"42")) == 42
