"""What stands in front of a message: which API, which version, whose answer.

    request header v1    api_key int16, api_version int16, correlation_id int32,
                         client_id nullable string (never compact)
    request header v2    the same, then tagged fields; of the flexible versions
    response header v0   correlation_id int32
    response header v1   the same, then tagged fields; of the flexible versions

ApiVersions is always answered with header v0: a client reads that answer before it
knows which versions the broker has.
"""

from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .api_keys import ApiKey
from .compiler import decoder, encoder
from .kafka_error import MalformedRequest
from .primitives import skip_tags
from .schema import REQUESTS

if TYPE_CHECKING:
    from .primitives import Buffer
    from .schema import Request, Response

ResponseT = TypeVar("ResponseT", bound="Response")

_REQUEST = Struct(">hhih")
_KNOWN_SIZE = 8  # of the request header: what stands there whatever the version
_CORRELATION_ID = Struct(">i")
_LENGTH = Struct(">i")


class RequestHeader(NamedTuple):
    """What a request says about itself."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None


def decode_request_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """The header that ``frame`` begins with, and the position of the body.

    Of an API or version that nothing declares (``schema.REQUESTS``) the rest of the
    header cannot be read: client id None, and the position behind what is known.

    Raises:
        MalformedRequest: ``frame`` is too short, or the client id is no UTF-8.
    """
    try:
        api_key, api_version, correlation_id, size = _REQUEST.unpack_from(frame)
        request = REQUESTS.get(api_key)
        if request is None or not (
            request.min_version <= api_version <= request.max_version
        ):
            return RequestHeader(api_key, api_version, correlation_id), _KNOWN_SIZE
        client_id, position = None, 10
        if size >= 0:
            position += size
            if position > len(frame):
                raise MalformedRequest(f"client id of {size} bytes, beyond the end")
            client_id = str(frame[10:position], "utf-8")
        if api_version >= request.first_flexible_version:
            # Nearly always there are no tagged fields.
            position = skip_tags(frame, position) if frame[position] else position + 1
    except (IndexError, struct_error, UnicodeDecodeError) as error:
        raise MalformedRequest(f"request header: {error}") from error
    header = (api_key, api_version, correlation_id, client_id)
    # Half the time of RequestHeader(...), which is 0.2 µs.
    return tuple.__new__(RequestHeader, header), position


def has_flexible_header(response: "type[Response]", version: int) -> bool:
    """Whether the header of this response ends with tagged fields."""
    return response.is_flexible(version) and response.api_key != ApiKey.API_VERSIONS


def encode_response_header(correlation_id: int, flexible: bool) -> bytes:
    """The header of a response; ``flexible`` is what ``has_flexible_header`` says."""
    header = _CORRELATION_ID.pack(correlation_id)
    return header + b"\0" if flexible else header


def encode_request(
    request: "Request",
    api_version: int,
    correlation_id: int = 0,
    client_id: str | None = None,
) -> bytes:
    """The whole frame of a request, its length in front."""
    name = b"" if client_id is None else client_id.encode()
    size = -1 if client_id is None else len(name)
    header = _REQUEST.pack(request.api_key, api_version, correlation_id, size) + name
    if request.is_flexible(api_version):
        header += b"\0"
    body = encoder(type(request), api_version)(request)
    length = len(header) + sum(len(buffer) for buffer in body)
    return b"".join([_LENGTH.pack(length), header, *body])


def encode_response(
    response: "Response", api_version: int, correlation_id: int
) -> "list[Buffer]":
    """The whole frame of a response as buffers, its length in the first."""
    body = encoder(type(response), api_version)(response)
    flexible = has_flexible_header(type(response), api_version)
    header = encode_response_header(correlation_id, flexible)
    length = len(header) + sum(len(buffer) for buffer in body)
    return [_LENGTH.pack(length) + header, *body]


def decode_response(
    data: "Buffer", cls: type[ResponseT], api_version: int
) -> tuple[int, ResponseT]:
    """The correlation id and the response in a frame, without its length.

    Raises:
        MalformedRequest: the frame is not a response of this class and version.
    """
    view = memoryview(data).cast("B")
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(view)
        position = _CORRELATION_ID.size
        if has_flexible_header(cls, api_version):
            position = skip_tags(view, position)
    except (IndexError, struct_error) as error:
        raise MalformedRequest(f"response header: {error}") from error
    response, position = decoder(cls, api_version)(view, position)
    if position != len(view):
        raise MalformedRequest(f"{len(view) - position} bytes behind a {cls.__name__}")
    return correlation_id, response
