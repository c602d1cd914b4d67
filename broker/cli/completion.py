"""``odradek completion``: let a shell complete commands, actions and options.

The scripts carry the words, which are gathered from the parsers when the script is
made: a shell starts Python for what only a broker knows, the names of topics and the
like, and for nothing else.
"""

from __future__ import annotations

import contextlib
import io
import re
from typing import TYPE_CHECKING

from odradek.terminal.parser import Parser

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .completion_names import Typed

_FLAG = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")
_ACTION = re.compile(r"^  ([a-z][a-z-]*)  ", re.MULTILINE)
_EXAMPLES = (
    'eval "$(odradek completion bash)"          # in ~/.bashrc',
    "odradek completion zsh > ~/.zfunc/_odradek  # with fpath+=~/.zfunc",
    "odradek completion fish > ~/.config/fish/completions/odradek.fish",
)


def command(arguments: list[str]) -> int:
    """Let a shell complete commands."""
    if arguments[:1] == ["names"]:
        return _print_names(arguments[1:])
    parser = Parser(
        "completion",
        "Write a script that lets a shell complete commands, actions, options, and the"
        " names of topics, groups and the like, for which it asks the broker. Exit"
        " code: 0 done, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("shell", choices=tuple(_SCRIPTS))
    options = parser.parse(arguments)
    print(_SCRIPTS[options.shell](words()), end="")
    return 0


def _print_names(arguments: list[str]) -> int:
    """A name a line; see `completion_names`."""
    from .completion_names import COMMANDS, behind_break, has_value, names_of, typed
    from .main import find

    is_cut = arguments[:1] == ["--cut"]  # by bash
    line = typed(arguments[arguments.index("--") + 1 :], COMMANDS)
    name, *action = line.command.split()

    def takes_value(line: Typed) -> bool:
        run = find(name)
        return run is not None and has_value(line.previous, _help(run, action))

    found = names_of(line, takes_value) if line.command in COMMANDS else []
    for each in behind_break(found, line.current) if is_cut else found:
        print(each)
    return 0


Words = dict[str, list[str]]


def words() -> Words:
    """What may follow: the commands after nothing, actions or options after them."""
    from .main import BUILT_IN, find

    known: Words = {"": sorted(BUILT_IN)}
    for name in sorted(BUILT_IN):
        if name == "completion":
            known[name] = sorted(_SCRIPTS)
            continue
        run = find(name)
        if run is None:
            continue
        text = _help(run, [])
        actions = _actions(text)
        known[name] = actions or _flags(text)
        for action in actions:
            known[f"{name} {action}"] = _following(run, action)
    return known


def _following(run: Command, action: str) -> list[str]:
    """The options of an action; before them its own actions, where it has some."""
    text = _help(run, [action])
    inner = _actions(text)
    if not inner:
        return _flags(text)
    flags = {flag for each in inner for flag in _flags(_help(run, [action, each]))}
    return [*inner, *sorted(flags)]


def _help(run: Command, arguments: list[str]) -> str:
    captured = io.StringIO()
    with (
        contextlib.redirect_stdout(captured),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(SystemExit, ImportError),
    ):
        run([*arguments, "--help"])
    return captured.getvalue()


def _actions(text: str) -> list[str]:
    _, heading, rest = text.partition("\nactions:\n")
    return _ACTION.findall(rest) if heading else []


def _flags(text: str) -> list[str]:
    options, _, _ = text.partition("\nexamples:")
    return sorted({flag for flag in _FLAG.findall(options) if flag.startswith("--")})


def _bash(known: Mapping[str, Sequence[str]]) -> str:
    lines = ["# odradek completion bash", "_odradek() {"]
    lines += [
        '    local cur="${COMP_WORDS[COMP_CWORD]}" key=""',
        '    [ "$COMP_CWORD" -gt 1 ] && key="${COMP_WORDS[1]}"',
        '    [ "$COMP_CWORD" -gt 2 ] && case "$key ${COMP_WORDS[2]}" in',
        f'        {_with_actions(known)}) key="$key ${{COMP_WORDS[2]}}" ;;',
        "    esac",
        '    local found=""',
        '    case "$key" in',
    ]
    lines += [
        f'        "{key}") found="{" ".join(of)}" ;;' for key, of in known.items()
    ]
    lines += [
        "    esac",
        "    COMPREPLY=()",
        f'    case "$cur,$key" in -*) ;; {_alternatives(_asking(), "*,")})',
        # compgen would run what stands in a name. No name here is put before a shell.
        "        local name",
        "        while IFS= read -r name; do",
        '            COMPREPLY+=("$(printf %q "$name")")',
        '        done < <("${1:-odradek}" completion names --cut --'
        ' "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)',
        '        [[ "${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2>/dev/null ;;',
        "    esac",
        '    [ "${#COMPREPLY[@]}" -gt 0 ] && return',
        '    COMPREPLY=($(compgen -W "$found" -- "$cur"))',
        "}",
        "complete -o default -F _odradek odradek",
    ]
    return "\n".join(lines) + "\n"


def _asking() -> Sequence[str]:
    """The commands that have names of a broker somewhere."""
    from .completion_names import COMMANDS

    return COMMANDS


def _alternatives(keys: Iterable[str], before: str = "") -> str:
    return "|".join(f'{before}"{key}"' for key in keys)


def _with_actions(known: Mapping[str, Sequence[str]]) -> str:
    return _alternatives(key for key in known if " " in key)


def _zsh(known: Mapping[str, Sequence[str]]) -> str:
    lines = ["#compdef odradek", "_odradek() {", '    local key="" found=()']
    lines += [
        '    (( CURRENT > 2 )) && key="${words[2]}"',
        '    (( CURRENT > 3 )) && case "$key ${words[3]}" in',
        f'        {_with_actions(known)}) key="$key ${{words[3]}}" ;;',
        "    esac",
        '    case "$key" in',
    ]
    lines += [
        f'        "{key}") found=({" ".join(of)}) ;;' for key, of in known.items()
    ]
    lines += [
        "    esac",
        f'    case "$key" in {_alternatives(_asking())})',
        '        local names=("${(@f)$("${words[1]}" completion names --'
        ' "${(@)words[2,CURRENT]}" 2>/dev/null)}")',
        '        if [[ -n "${names[1]}" ]]; then',
        '            [[ "${names[1]}" == *= ]] && compadd -S "" -- $names && return',
        "            compadd -- $names && return",
        "        fi ;;",
        "    esac",
        "    compadd -- $found",
        '    [[ "${words[CURRENT]}" != -* ]] && (( CURRENT > 2 )) && _files',
        "}",
        "compdef _odradek odradek",
    ]
    return "\n".join(lines) + "\n"


def _fish(known: Mapping[str, Sequence[str]]) -> str:
    lines = ["# odradek completion fish"]
    lines += [
        f"complete -c odradek -n __fish_use_subcommand -f -a {name}"
        for name in known[""]
    ]
    for key, of in known.items():
        if key:
            lines += list(_fish_lines(key, of, known))
    return "\n".join(lines) + "\n"


def _fish_lines(
    key: str, of: Sequence[str], known: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    name, _, action = key.partition(" ")
    seen = f"__fish_seen_subcommand_from {name}"
    if action:
        seen += f"; and __fish_seen_subcommand_from {action}"
    elif any(other.startswith(f"{name} ") for other in known):
        seen += f"; and not __fish_seen_subcommand_from {' '.join(of)}"
    for word in of:
        what = f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}"
        yield f"complete -c odradek -n '{seen}' {what}"
    if key in _asking():
        yield (
            f"complete -c odradek -n '{seen}' -a '(odradek completion names --"
            " (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'"
        )


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[[list[str]], int]
