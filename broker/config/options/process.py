"""The options of the process: what it ends with, and who may steer it in a test."""

from dataclasses import dataclass

from .option import INT_MAX, Kind, option


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ProcessOptions:
    """What a test wants of a broker, and who runs one for another program."""

    exit_with_process: int = option(
        0,
        "exit.with.process",
        "Id of a process: the broker stops when that has ended. 0: of none.",
        at_least=0,
        at_most=INT_MAX,
    )
    test_control: bool = option(
        False,
        "test.control",
        "Let tests steer this broker: its clock, faults, waits.",
    )
    test_control_token: str = option(
        "",
        "test.control.token",
        "What who steers it by HTTP must know. Needed where a listener can be reached "
        "from other machines.",
        kind=Kind.PASSWORD,
    )
    ready_words: tuple[str, ...] = option(
        (),
        "ready.words",
        "Lines to print when clients can connect, after the broker's own: for programs "
        "that wait for what another broker says.",
    )
