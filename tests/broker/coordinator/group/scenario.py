"""Scenes of groups as text: what is asked, what is answered, what the group becomes.

``> a joins`` is a request, or something that happens; ``< a joined 1 ...`` an answer,
in the order in which they leave; ``= Stable ...`` the group, whenever it has changed.
"""

import re
from collections.abc import Iterable
from typing import Any

from odradek.broker.coordinator.group.administration import decide_delete
from odradek.broker.coordinator.group.offsets.expiry import decide_expiry
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode, KafkaError
from tests.broker.coordinator.group.rig import GROUP, Groups

_UNITS = {"ms": 1, "s": 1000, "min": 60_000, "days": 86_400_000}
_INTEGERS = {
    "generation": "generation",
    "session": "session_timeout_ms",
    "rebalance": "rebalance_timeout_ms",
}


class Scene:
    """One group, and the clients that talk to it, each by its name."""

    def __init__(self, **options: Any) -> None:
        self.groups = Groups(**options)
        self.transcript: list[str] = []
        self._ids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._generations: dict[str, int] = {}
        self._settled: list[tuple[str, str, Any]] = []
        self._shown = ""

    def play(self, line: str) -> None:
        """Do what a line says, and write down what follows."""
        self.transcript.append(f"> {line}")
        subject, verb, *words = line.split()
        plain = dict(word.split("=", 1) for word in words if "=" in word)
        if subject in ("wait", "disk", "appends", "broker", "group"):
            getattr(self, f"_{subject}")(verb, *words)
        else:
            answer = getattr(self, f"_{verb}")(subject, set(words), plain)
            self._expect(subject, verb, answer)
            self._note_ids(subject)
        for answered in self._settled:
            self._write(*answered)
        self._settled.clear()
        shown = self._state()
        if shown != self._shown:
            self.transcript.append(f"= {shown}")
            self._shown = shown

    # Clients

    def _joins(self, name: str, words: set[str], plain: dict[str, str]) -> Any:
        fields: dict[str, Any] = {
            _INTEGERS[key]: int(value)
            for key, value in plain.items()
            if key in _INTEGERS
        }
        if "protocols" in plain:
            pairs = (each.partition(":") for each in plain["protocols"].split(","))
            fields["protocols"] = tuple(
                (left, right.encode()) for left, _, right in pairs
            )
        version = int(plain.get("v", 9))
        instance = plain.get("instance")
        member_id = "" if "anew" in words else self._ids.get(name, "")
        return self.groups.join(
            plain.get("id", member_id),
            instance,
            client_id=name,
            protocol_type=plain.get("type", "consumer"),
            must_know_its_id=version >= 4,
            knows_skip_assignment=version >= 9,
            **fields,
        )

    def _syncs(self, name: str, words: set[str], plain: dict[str, str]) -> Any:
        instance = plain.pop("instance", None)
        generation = int(plain.pop("generation", self._generations.get(name, 0)))
        protocol_name = plain.pop("protocol", None)
        given = {self._ids[key]: value.encode() for key, value in plain.items()}
        return self.groups.sync(
            self._ids.get(name, name),
            given,
            generation=generation,
            group_instance_id=instance,
            protocol_name=protocol_name,
        )

    def _beats(self, name: str, words: set[str], plain: dict[str, str]) -> Any:
        generation = int(plain.get("generation", self._generations.get(name, 0)))
        return self.groups.beat(
            self._ids.get(name, name),
            generation,
            group_instance_id=plain.get("instance"),
        )

    def _leaves(self, name: str, words: set[str], plain: dict[str, str]) -> Any:
        member_id = "" if "unnamed" in words else self._ids.get(name, name)
        others = [self._ids[each] for each in plain.get("with", "").split(",") if each]
        return self.groups.leave(member_id, *others, instance=plain.get("instance"))

    def _commits(self, name: str, words: set[str], plain: dict[str, str]) -> Any:
        generation = int(plain.pop("generation", self._generations.get(name, -1)))
        member_id = self._ids.get(name, "")
        instance = plain.pop("instance", None)
        ((partition, offset),) = plain.items()
        return self.groups.commit(
            int(offset),
            places=[("t", int(partition))],
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
        )

    def _fetches(self, name: str, words: set[str], plain: dict[str, str]) -> Any:
        return [
            (each.partition, each.committed.offset) for each in self.groups.fetch(None)
        ]

    # What happens

    def _wait(self, amount: str) -> None:
        number, unit = re.fullmatch(r"(\d+)(\w+)", amount).groups()  # type: ignore[union-attr]
        self.groups.clock.advance(int(number) * _UNITS[unit])

    def _disk(self, verb: str) -> None:
        if verb == "syncs":
            self.groups.flush()
            return
        error = CoordinatorNotAvailable()
        self.groups.state.on_unloaded(error)  # as the shard does it: first all answers
        self.groups.fake.flush(error)

    def _appends(self, verb: str) -> None:
        self.groups.fake.refusal = CoordinatorNotAvailable() if verb == "fail" else None

    def _broker(self, verb: str, *words: str) -> None:
        if verb == "crashes":
            self.groups.fake.crash()
        self.groups.reload()

    def _group(self, verb: str, *words: str) -> None:
        if verb == "expires":
            self.groups.decide(decide_expiry)
            return
        answer = self.groups.decide(lambda shard: decide_delete(shard, GROUP))
        self._expect("group", verb, answer)

    # What is written down

    def _expect(self, name: str, verb: str, answer: Any) -> None:
        if not isinstance(answer, Parked):
            self._settled.append((name, verb, answer))
            return
        answer.listen(
            lambda parked: self._settled.append((name, verb, parked.result()))
        )

    def _write(self, name: str, verb: str, answer: Any) -> None:
        self._note_answer(name, answer)
        self.transcript.append(f"< {name} {self._said(name, verb, answer)}")

    def _note_answer(self, name: str, answer: Any) -> None:
        """A client goes on with the id and the generation that it was told."""
        member_id = getattr(answer, "member_id", "")
        if member_id and member_id != self._ids.get(name):
            self._name(name, member_id)
        if getattr(answer, "generation_id", -1) > 0:
            self._generations[name] = answer.generation_id

    def _note_ids(self, name: str) -> None:
        group = self.groups.state.group(GROUP)
        for member_id in group.members if group else ():
            if member_id not in self._names:
                self._name(name, member_id)

    def _name(self, name: str, member_id: str) -> None:
        if member_id in self._names:
            return
        count = sum(each.split("/")[0] == name for each in self._names.values())
        self._ids[name] = member_id
        self._names[member_id] = f"{name}/{count + 1}" if count else name

    def _said(self, name: str, verb: str, answer: Any) -> str:
        if isinstance(answer, KafkaError):
            return ErrorCode(answer.code).name
        code = getattr(answer, "error_code", 0) or (answer if _is_code(answer) else 0)
        if code:
            return ErrorCode(code).name
        if verb == "joins":
            said = f"joined {answer.generation_id} {answer.protocol_name}"
            said += f" leader={self._names.get(answer.leader, answer.leader)}"
            if answer.members:
                members = self._listed(each.member_id for each in answer.members)
                said += f" members={members}"
            return said + " skips" * answer.skip_assignment
        if verb == "syncs":
            return f"assigned {answer.assignment.decode() or '-'}"
        if verb == "fetches":
            return " ".join(f"{left}={right}" for left, right in answer) or "nothing"
        if isinstance(answer, list):
            return " ".join(ErrorCode(each).name for each in answer)
        return "NONE"

    def _listed(self, ids: Iterable[str]) -> str:
        return ",".join(self._names[each] for each in ids) or "-"

    def _state(self) -> str:
        group = self.groups.state.group(GROUP)
        if group is None:
            return "no group"
        shown = f"{group.state.value} {group.generation_id}"
        if group.leader_id is not None:
            shown += f" leader={self._names.get(group.leader_id, '?')}"
        if group.members:
            shown += f" members={self._listed(group.members)}"
        if group.awaiting_join():
            waiting = (each.member_id for each in group.awaiting_join())
            shown += f" joining={self._listed(waiting)}"
        if group.pending_join_ids:
            shown += f" expected={self._listed(sorted(group.pending_join_ids))}"
        return shown


def _is_code(answer: Any) -> bool:
    return isinstance(answer, int)


def played(text: str) -> str:
    """The scene as it goes now: equal to ``text``, when that is how it should go."""
    options: dict[str, Any] = {}
    scene: Scene | None = None
    told: list[str] = []
    for line in text.splitlines():
        if line.startswith("given "):
            _, key, value = line.split()
            options[key.replace(".", "_")] = int(value)
        if not line.startswith(("<", "=", ">")):
            told.append(line)
            continue
        if not line.startswith(">"):
            continue
        scene = scene or Scene(**options)
        scene.transcript = told
        scene.play(line[2:])
    return "\n".join(told) + "\n"
