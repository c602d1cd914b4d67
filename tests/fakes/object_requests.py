"""Requests to a scripted store, as S3 and Google have them."""

from __future__ import annotations

import re
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from tests.fakes.stored_objects import (
    BROKEN,
    BUSY,
    CONFLICT,
    DENIED,
    EXPIRED,
    LATE,
    LOST,
    ObjectServer,
    Stored,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_CODES = {
    BUSY: (503, "SlowDown"),
    LATE: (503, "SlowDown"),
    EXPIRED: (400, "ExpiredToken"),
    DENIED: (403, "AccessDenied"),
    CONFLICT: (409, "ConditionalRequestConflict"),
}


class ObjectRequests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes: else the second one waits 40 ms for the client.
    disable_nagle_algorithm = True
    server_store: ObjectServer

    def log_message(self, format: str, *arguments: object) -> None:
        """It says nothing."""

    def do_GET(self) -> None:
        self._serve()

    do_PUT = do_POST = do_DELETE = do_HEAD = do_GET

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        self.bucket, _, self.name = unquote(parts.path).lstrip("/").partition("/")
        self.query = parse_qs(parts.query, keep_blank_values=True)
        self.body = self._read_body()
        store = self.server_store
        store.requests.append(f"{self.command} {self.path}")
        fault = store.fault_for(self.command, unquote(self.path))
        if fault == BROKEN:
            self._hang_up()
            return
        if fault in (BUSY, EXPIRED, DENIED, CONFLICT):
            self._refuse(*_CODES[fault])
            return
        with store.lock:
            answer = self._answer()
        if fault == LOST:
            self._hang_up()
            return
        if fault == LATE:
            self._refuse(*_CODES[fault])
            return
        answer()

    def _read_body(self) -> bytes:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return body
        found, rest = b"", body
        while rest:
            head, _, rest = rest.partition(b"\r\n")
            size = int(head.split(b";")[0], 16)
            found, rest = found + rest[:size], rest[size + 2 :]
            if not size:
                break
        return found

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def _answer(self) -> Callable[[], None]:
        """Do it; returns what says that it is done."""
        if self.bucket not in self.server_store.buckets:
            return lambda: self._refuse(404, "NoSuchBucket")
        if self.command in ("GET", "HEAD") and not self.name:
            text = self._listing()
            return lambda: self._send(200, text.encode())
        does = {
            "GET": self._get,
            "HEAD": self._get,
            "PUT": self._put,
            "POST": self._post,
            "DELETE": self._delete,
        }
        return does[self.command]()

    def _get(self) -> Callable[[], None]:
        found = self.server_store.objects.get((self.bucket, self.name))
        if found is None:
            return lambda: self._refuse(404, "NoSuchKey")
        content, status, headers = found.content, 200, self._headers_of(found)
        if given := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")):
            size = len(content)
            first = int(given[1]) if given[1] else max(size - int(given[2]), 0)
            end = int(given[2]) + 1 if given[1] and given[2] else size
            if first >= size:
                return lambda: self._refuse(416, "InvalidRange")
            content, status = content[first:end], 206
            last = first + len(content) - 1
            headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        return lambda: self._send(status, content, headers)

    @staticmethod
    def _headers_of(stored: Stored) -> dict[str, str]:
        return {
            "ETag": stored.etag,
            "Last-Modified": formatdate(stored.changed_s, usegmt=True),
            "x-goog-generation": "1",
        }

    def _put(self) -> Callable[[], None]:
        store = self.server_store
        if "partNumber" in self.query:
            parts = store.parts.setdefault(self.query["uploadId"][0], {})
            parts[int(self.query["partNumber"][0])] = self.body
            return lambda: self._send(200, b"", {"ETag": '"part"'})
        is_there = (self.bucket, self.name) in store.objects
        if is_there and self._wants_none() and not store.forgets_conditions:
            return lambda: self._refuse(412, "PreconditionFailed")
        source = self.headers.get("x-amz-copy-source") or self.headers.get(
            "x-goog-copy-source"
        )
        if source:
            return self._copy(unquote(source).lstrip("/"))
        stored = store.put(self.name, self.body, self.bucket)
        return lambda: self._send(200, b"", self._headers_of(stored))

    def _wants_none(self) -> bool:
        return (
            self.headers.get("If-None-Match") == "*"
            or self.headers.get("x-goog-if-generation-match") == "0"
        )

    def _copy(self, source: str) -> Callable[[], None]:
        bucket, _, name = source.partition("/")
        found = self.server_store.objects.get((bucket, name))
        if found is None:
            return lambda: self._refuse(404, "NoSuchKey")
        stored = self.server_store.put(self.name, found.content, self.bucket)
        text = f"<CopyObjectResult><ETag>{stored.etag}</ETag></CopyObjectResult>"
        return lambda: self._send(200, text.encode(), self._headers_of(stored))

    def _post(self) -> Callable[[], None]:
        store = self.server_store
        if "uploads" in self.query:
            number = str(len(store.parts))
            store.parts[number] = {}
            text = (
                f"<InitiateMultipartUploadResult><Bucket>{self.bucket}</Bucket>"
                f"<Key>{escape(self.name)}</Key><UploadId>{number}</UploadId>"
                "</InitiateMultipartUploadResult>"
            )
            return lambda: self._send(200, text.encode())
        if "uploadId" in self.query:
            parts = store.parts[self.query["uploadId"][0]]
            whole = b"".join(parts[number] for number in sorted(parts))
            stored = store.put(self.name, whole, self.bucket)
            text = (
                f"<CompleteMultipartUploadResult><Key>{escape(self.name)}</Key>"
                f"<ETag>{stored.etag}</ETag></CompleteMultipartUploadResult>"
            )
            return lambda: self._send(200, text.encode())
        return self._delete_many()

    def _delete_many(self) -> Callable[[], None]:
        names = re.findall(r"<Key>([^<]*)</Key>", self.body.decode())
        for name in names:
            self.server_store.objects.pop((self.bucket, unescape(name)), None)
        gone = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
        text = f"<DeleteResult>{gone}</DeleteResult>"
        return lambda: self._send(200, text.encode())

    def _delete(self) -> Callable[[], None]:
        if "uploadId" in self.query:
            self.server_store.parts.pop(self.query["uploadId"][0], None)
        self.server_store.objects.pop((self.bucket, self.name), None)
        return lambda: self._send(204, b"")

    def _listing(self) -> str:
        prefix = self.query.get("prefix", [""])[0]
        delimiter = self.query.get("delimiter", [""])[0]
        after = self.query.get("start-after", [""])[0]
        rows, folders = [], set()
        for (bucket, name), stored in sorted(self.server_store.objects.items()):
            if bucket != self.bucket or not name.startswith(prefix) or name <= after:
                continue
            rest = name[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
                continue
            moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(stored.changed_s))
            rows.append(
                f"<Contents><Key>{escape(name)}</Key><Size>{len(stored.content)}</Size>"
                f"<ETag>{escape(stored.etag)}</ETag>"
                f"<LastModified>{moment}.000Z</LastModified></Contents>"
            )
        common = "".join(
            f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>"
            for each in sorted(folders)
        )
        return (
            f"<ListBucketResult><Name>{self.bucket}</Name><IsTruncated>false"
            f"</IsTruncated>{''.join(rows)}{common}</ListBucketResult>"
        )

    def _refuse(self, status: int, code: str) -> None:
        """As stores do: with things in it that nobody else should see."""
        text = (
            f"<Error><Code>{code}</Code><Message>no</Message>"
            "<AWSAccessKeyId>AKIASHOWN</AWSAccessKeyId>"
            "<StringToSign>signature-shown</StringToSign></Error>"
        )
        self._send(status, text.encode())

    def _send(
        self, status: int, content: bytes, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        given = {"Content-Type": "application/xml", **(headers or {})}
        for name, value in given.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
