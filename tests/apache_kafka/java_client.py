"""A process that plays scenes with the Java client, and runs Apache Kafka's tools."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol

from tests.apache_kafka import jars

SOURCES = jars.HERE / "java"
CLASSES = jars.HERE / "target" / "classes"
_COMPLETE = CLASSES / ".complete"

Deeds = dict[str, Callable[[], object]]


class Broker(Protocol):
    """The broker of a scene: ours, or Apache Kafka."""

    port: int

    @property
    def address(self) -> str: ...
    def kill(self) -> None: ...
    def start(self) -> object: ...


class JavaFailure(Exception):
    """What a scene or a tool ended with: a stack trace."""


class JavaClient:
    """One Java process for many scenes and tools: each start of one costs a second."""

    def __init__(self, log_path: Path) -> None:
        self.log_path = log_path
        command = jars.java("Scenes", classes=compiled())
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def __enter__(self) -> "JavaClient":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def play(self, actors: str, scene: str, broker: Broker, topic: str) -> None:
        """Play a scene to its end; ``actors`` is the class it is in."""

        def restart() -> None:
            broker.kill()
            broker.start()

        self.play_at(broker.address, actors, scene, topic, {"restart": restart})

    def play_at(
        self, address: str, actors: str, scene: str, topic: str, deeds: Deeds
    ) -> None:
        """Play a scene that asks for these ``deeds``, by their names."""
        self._run(("scene", actors, scene, address, topic), deeds)

    def tool(self, class_name: str, *arguments: str) -> str:
        """What a tool prints on either stream; it must end well."""
        return self._run(("tool", class_name, *arguments), {})

    def feed(self, text: str, class_name: str, *arguments: str) -> str:
        """What a tool prints that reads ``text``; it must end well."""
        read = text.replace("\n", "\x01")
        return self._run(("feed", read, class_name, *arguments), {})

    def _run(self, words: tuple[str, ...], deeds: Deeds) -> str:
        self._write("\t".join(words))
        printed: dict[str, list[str]] = {"|": [], "!": []}
        while (line := self._read()) not in ("done", "failed"):
            kind, text = line[0], line[1:]
            if kind == "?":
                deeds[text]()
                self._write(text)
            else:
                printed[kind].append(text)
        if line == "failed":
            raise JavaFailure("\n".join(printed["|"] + printed["!"]))
        return "".join(text + "\n" for text in printed["|"])

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"Java ended: {self.log_path.read_text()[-5000:]}"
        return line.rstrip("\n")


def compiled() -> Path:
    """Where the classes of the scenes are; compiled unless they are there."""
    sources = sorted(SOURCES.glob("*.java"))
    text = "".join(source.read_text() for source in sources)
    if not (_COMPLETE.exists() and _COMPLETE.read_text() == text):
        command = ["javac", "-cp", f"{jars.LIBS}/*", "-d", str(CLASSES)]
        run = subprocess.run(
            [*command, *map(str, sources)], capture_output=True, text=True
        )
        assert run.returncode == 0, run.stdout + run.stderr
        _COMPLETE.write_text(text)
    return CLASSES
