"""A store that is asked over HTTP, without waiting between tries."""

from odradek.objects.cloud import CloudStore
from odradek.objects.opening import read_settings
from odradek.objects.retries import Retries
from tests.fakes.object_server import environment
from tests.fakes.stored_objects import ObjectServer


class Tries:
    """Counts pauses, and lets them pass at once."""

    def __init__(self) -> None:
        self.count = 0
        self.now_s = 0.0

    def pause(self, seconds: float) -> None:
        self.count += 1
        self.now_s += seconds

    def retries(self) -> Retries:
        return Retries(60, pause=self.pause, now_s=lambda: self.now_s)


def cloud_store(server: ObjectServer, tries: Tries | None = None) -> CloudStore:
    here = {"HOME": "/none", "PATH": "/none", **environment(server)}
    settings = read_settings("s3://lake/t", {}, here)
    return CloudStore(settings, (tries or Tries()).retries())
