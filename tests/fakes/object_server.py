"""A store of objects over HTTP, as S3 and Google have it, that fails as a script says.

It keeps objects in memory (`stored_objects`) and knows what this project asks of a
store (`object_requests`): put, on the condition that there is none, get, ranges, head,
list, copy, delete, multipart.
"""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack, contextmanager
from http.server import ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from typing import TYPE_CHECKING

from tests.fakes.object_requests import ObjectRequests
from tests.fakes.stored_objects import ObjectServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def object_server() -> Iterator[ObjectServer]:
    """A store that listens as long as it is used, in this process."""
    store = ObjectServer()
    with _listening(store):
        yield store


_FAR = ExitStack()


class _Manager(BaseManager):
    """Starts another process, and has the store there."""


def _listening_store() -> ObjectServer:
    """In that process, which ends by a signal."""
    store = ObjectServer()
    _FAR.enter_context(_listening(store))
    return store


_Manager.register("store", _listening_store)


@contextmanager
def far_object_server() -> Iterator[ObjectServer]:
    """One in a process of its own: some libraries keep the GIL while they ask it."""
    with _Manager(ctx=get_context("spawn")) as manager:
        yield manager.store()  # type: ignore[attr-defined]


@contextmanager
def _listening(store: ObjectServer) -> Iterator[None]:

    class Handler(ObjectRequests):
        server_store = store

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda request, client: None  # it has hung up
        store.address = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def google_environment(store: ObjectServer, folder: Path) -> dict[str, str]:
    """And as Google's: a key of a service account that says where to ask."""
    key = folder / "service-account.json"
    fields = {
        "type": "service_account",
        "gcs_base_url": store.where(),
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }
    key.write_text(json.dumps(fields))
    return {"GOOGLE_SERVICE_ACCOUNT": str(key)}


def environment(store: ObjectServer) -> dict[str, str]:
    """What a process is told to find the store as S3."""
    return {
        "AWS_ENDPOINT_URL": store.where(),
        "AWS_ACCESS_KEY_ID": "AKIASHOWN",
        "AWS_SECRET_ACCESS_KEY": "secret-shown",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
