"""A store of Amazon's kind by moto, as people run it on one machine."""

import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIASHOWN",
    "AWS_SECRET_ACCESS_KEY": "secret-shown",
    "AWS_REGION": "us-east-1",
}


@contextmanager
def running_moto(bucket: str) -> Iterator[str]:
    """The URL of a store with a bucket."""
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stderr is not None
    said = []
    try:
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"Running on (http://127\.0\.0\.1:\d+)", line):
                url = found[1]
                break
        else:
            raise AssertionError("".join(said))
        # Its log is of no interest, and must not fill the pipe.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        request = urllib.request.Request(f"{url}/{bucket}", method="PUT")
        urllib.request.urlopen(request).close()
        yield url
    finally:
        process.kill()
        process.communicate()
