"""Bytes to a ProduceRequest: cutting frames, reading the header, the message."""

from collections.abc import Iterator

from measuring import Case, main, repeating
from samples import PRODUCE_VERSION, large_batch, produce_frame, small_batch

from odradek.protocol.compiler import decoder
from odradek.protocol.framing import FrameReader
from odradek.protocol.headers import decode_request_header
from odradek.protocol.messages.produce import ProduceRequest


def cases() -> Iterator[Case]:
    decode = decoder(ProduceRequest, PRODUCE_VERSION)
    for label, batch in (("100 B", small_batch()), ("16 KiB", large_batch())):
        frame = produce_frame(batch)

        def decode_all(frame: memoryview = frame) -> None:
            _, position = decode_request_header(frame)
            decode(frame, position)

        cut = repeating(lambda frame=frame: _cut(frame))
        yield Case(f"cut a Produce frame, {label}", cut, len(batch))
        yield Case(f"decode Produce, {label}", repeating(decode_all), len(batch))


def _cut(frame: memoryview) -> None:
    """What a connection does for a request that arrives alone, with its copy."""
    reader = _reader
    rest = len(frame).to_bytes(4, "big") + frame
    while rest:
        view = reader.get_buffer()
        count = min(len(view), len(rest))
        view[:count] = rest[:count]
        reader.received(count)
        rest = rest[count:]


_reader = FrameReader(100 << 20)

if __name__ == "__main__":
    main(cases)
