"""What a shell completes after ``inferometer``: scripts for bash, zsh and fish, made from the parsers.

``inferometer completion SHELL`` prints one.  No Qt here.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.console import PROGRAM

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Option:
    """An option.  ``values`` None: nothing follows; (): a file or a number."""

    names: tuple[str, ...]
    about: str
    values: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Command:
    """A command; "" is the program without one.  Its first argument is one of ``choices``, else a file."""

    name: str
    about: str
    options: tuple[Option, ...]
    choices: tuple[str, ...] = ()


def command_of(name: str, parser: argparse.ArgumentParser) -> Command:
    """What a parser takes."""
    choices: tuple[str, ...] = ()
    options = []
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way to list them
        given = tuple(str(choice) for choice in action.choices or ())
        if action.option_strings:
            about = (action.help or "") % {"prog": PROGRAM}
            options.append(Option(tuple(action.option_strings), about, None if action.nargs == 0 else given))
        elif given and not choices:
            choices = given
    return Command(name, parser.description or "", tuple(options), choices)


def script(shell: str, commands: Sequence[Command]) -> str:
    """The script of a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


# -- bash ----------------------------------------------------------------------------------------


def _bash(commands: Sequence[Command]) -> str:
    names = [command.name for command in commands if command.name]
    return f"""\
# bash completion of {PROGRAM}
_{PROGRAM}() {{
    local IFS=$'\\n' current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=
    COMPREPLY=()
    if (( COMP_CWORD > 1 )); then
        case ${{COMP_WORDS[1]}} in
            {"|".join(names)}) command=${{COMP_WORDS[1]}} ;;
        esac
    fi
    case "$command $before" in
{_indented(_bash_values(commands), 8)}
    esac
    if [[ $current == -* ]]; then
        case $command in
{_indented(_bash_options(commands), 12)}
        esac
        return
    fi
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W "{_bash_words(names)}" -- "$current"))
    elif (( COMP_CWORD == 2 )); then
        case $command in
{_indented(_bash_choices(commands), 12)}
        esac
    fi
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$current"))
}}
complete -F _{PROGRAM} {PROGRAM}
"""


def _indented(lines: Iterator[str], by: int) -> str:
    return "\n".join(" " * by + line for line in lines)


def _bash_words(words: Sequence[str]) -> str:
    return "\n".join(words)


def _bash_reply(words: Sequence[str]) -> str:
    return f'COMPREPLY=($(compgen -W "{_bash_words(words)}" -- "$current"))'


def _bash_values(commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        for option in command.options:
            if option.values is None:
                continue
            patterns = "|".join(f'"{command.name} {name}"' for name in option.names)
            if option.values:
                yield f"{patterns}) {_bash_reply(option.values)}; return ;;"
            else:
                files = 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current"))'
                yield f"{patterns}) {files}; return ;;"


def _bash_options(commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        names = [name for option in command.options for name in option.names]
        yield f'"{command.name}") {_bash_reply(names)} ;;'


def _bash_choices(commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        if command.choices:
            yield f"{command.name}) {_bash_reply(command.choices)}; return ;;"
    yield "*) ;;"


# -- zsh -----------------------------------------------------------------------------------------


def _zsh(commands: Sequence[Command]) -> str:
    named = [command for command in commands if command.name]
    listed = "\n".join(f"        {_quoted(f'{c.name}:{_zsh_text(c.about)}')}" for c in named)
    cases = "\n".join(f"        {c.name}) _arguments -s \\\n{_zsh_arguments(c)} ;;" for c in named)
    (window,) = [command for command in commands if not command.name]
    return f"""\
#compdef {PROGRAM}
_{PROGRAM}() {{
    local -a commands
    commands=(
{listed}
    )
    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _describe -t commands command commands
        _files
        return
    fi
    case $words[2] in
        {"|".join(c.name for c in named)}) shift words; (( CURRENT-- )) ;;
    esac
    case $words[1] in
{cases}
        *) _arguments -s \\
{_zsh_arguments(window)} ;;
    esac
}}
if [[ $funcstack[1] == _{PROGRAM} ]]; then
    _{PROGRAM} "$@"
else
    compdef _{PROGRAM} {PROGRAM}
fi
"""


def _zsh_arguments(command: Command) -> str:
    lines = []
    for option in command.options:
        for name in option.names:
            text = f"{name}[{_zsh_text(option.about)}]"
            if option.values:
                text += f":{name.lstrip('-')}:({' '.join(option.values)})"
            elif option.values is not None:
                text += f":{name.lstrip('-')}:_files"
            lines.append(_quoted(text))
    if command.choices:
        lines.append(_quoted(f"1: :({' '.join(command.choices)})"))
    lines.append("'*: :_files'")
    return " \\\n".join(f"            {line}" for line in lines)


def _zsh_text(text: str) -> str:
    """A text without what separates the parts of a specification."""
    for mark in "\\[]:":
        text = text.replace(mark, f"\\{mark}")
    return text


# -- fish ----------------------------------------------------------------------------------------


def _fish(commands: Sequence[Command]) -> str:
    lines = [f"# fish completion of {PROGRAM}"]
    for command in commands:
        here = f"__fish_seen_subcommand_from {command.name}" if command.name else "__fish_use_subcommand"
        condition = f"complete -c {PROGRAM} -n '{here}'"
        if command.name:
            about = _fish_quoted(command.about)
            lines.append(f"complete -c {PROGRAM} -n '__fish_use_subcommand' -a {command.name} -d {about}")
        if command.choices:
            lines.append(f"{condition} -f -a '{' '.join(command.choices)}'")
        for option in command.options:
            names = "".join(
                f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.names
            )
            after = "" if option.values is None else " -r"
            if option.values:
                after = f" -x -a '{' '.join(option.values)}'"
            lines.append(f"{condition}{names}{after} -d {_fish_quoted(option.about)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """In single quotes, for a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
