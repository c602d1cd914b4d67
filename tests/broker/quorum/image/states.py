"""Images that some records lead to."""

from odradek.broker.quorum.image.image import MetadataImage
from odradek.broker.quorum.image.replay import Replay
from odradek.protocol.record_batch import read_header
from odradek.protocol.schema import Message
from tests.fakes.controller import batch_of


def state(*messages: Message) -> MetadataImage:
    replay, batch = Replay(), batch_of(messages, 0, 1)
    replay.apply(read_header(batch), batch)
    return replay.publish()
