"""What a Java program loads, kept in an archive: it starts in half the processor time.

Class data sharing (JEP 350): a program that ends in order leaves the classes that it
has loaded in a file, which the next one maps into its memory. A file is made once and
kept with the jars; where it does not fit, or Java cannot make one, Java goes without.
"""

import fcntl
import hashlib
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "target"
# Java says on its standard output, which may be read, that an archive does not fit.
_SILENT = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr")
# Runs the program with these options of Java, until it ends in order.
Train = Callable[[list[str]], None]


def archive_options(name: str, of: str, train: Train, run: str = "") -> list[str]:
    """The options with which Java uses the archive of a program; none without Java's.

    ``of`` is all that the classes come from: another text is another archive. Where one
    run gains no more than the archive takes to make, it says which ``run`` it is: the
    first that asks goes without, and the next makes it.
    """
    FOLDER.mkdir(exist_ok=True)
    digest = hashlib.sha256(f"{_java_version()}\n{of}".encode()).hexdigest()[:16]
    archive = FOLDER / f"{name}-{digest}.jsa"
    with (FOLDER / f"{name}.lock").open("w") as lock:  # one process makes it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if run and not archive.exists():
            first = archive.with_suffix(".jsa.first")
            if not first.exists():
                first.write_text(run)
            if first.read_text() == run:
                return []
        if not archive.exists():
            for old in FOLDER.glob(f"{name}-*.jsa*"):
                old.unlink()
            made = archive.with_suffix(".jsa.new")
            train([f"-XX:ArchiveClassesAtExit={made}", *_SILENT])
            if made.exists():
                made.rename(archive)
            else:
                archive.touch()
        is_made = archive.stat().st_size > 0
    return [f"-XX:SharedArchiveFile={archive}", *_SILENT] if is_made else []


@cache
def _java_version() -> str:
    command = ["java", "-version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr
