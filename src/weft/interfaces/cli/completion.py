"""`weft completion`: print the script that lets a shell complete commands and options.

The scripts are written from the commands themselves and complete without starting Weft, so that the Tab key never
waits. `describe_commands` is also what the manual page is made from.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer
from msgspec import Struct

from weft.errors import UnknownName
from weft.interfaces.cli import output
from weft.interfaces.cli.usage import first_sentence

PROGRAM: Final = "weft"
_HELP_WIDTH: Final = 70
"""Characters of a description beside a candidate: a line of a narrow terminal."""


class OptionHelp(Struct, frozen=True):
    """One option: its spellings, the name of the value that it takes (empty for a flag), and its help."""

    names: tuple[str, ...]
    value: str
    help: str


class CommandHelp(Struct, frozen=True):
    """One command or group: the words that lead to it, its help, its arguments, options and commands in it."""

    path: tuple[str, ...]
    help: str
    arguments: tuple[str, ...]
    options: tuple[OptionHelp, ...]
    commands: tuple["CommandHelp", ...] = ()

    @property
    def words(self) -> dict[str, str]:
        """Return what may follow the command, with a line of help each: commands in it, then options."""
        found = {command.path[-1]: _first_line(command.help) for command in self.commands}
        return found | {name: _first_line(option.help) for option in self.options for name in option.names}


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")],
) -> None:
    """Print the script that completes commands and options in a shell."""
    write_script = _SCRIPTS.get(shell.lower())
    if write_script is None:
        raise UnknownName("shell", shell, _SCRIPTS)
    output.write(write_script([*_all_commands(describe_commands())]))


def describe_commands() -> CommandHelp:
    """Describe the whole command line, read from the commands themselves."""
    from weft.interfaces.cli import make_app

    return _describe(typer.main.get_command(make_app(False)), ())


def _describe(command: Any, path: tuple[str, ...]) -> CommandHelp:
    options, arguments = [], []
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            arguments.append(parameter.metavar or parameter.name.upper())
        elif not parameter.hidden:
            value = "" if parameter.is_flag else parameter.metavar or "VALUE"
            names = (*parameter.opts, *parameter.secondary_opts)
            options.append(OptionHelp(tuple(names), value, parameter.help or ""))
    options.append(OptionHelp(("--help",), "", "Show this help and stop."))
    inner = getattr(command, "commands", {})
    return CommandHelp(
        path,
        command.help or "",
        tuple(arguments),
        tuple(options),
        tuple(_describe(each, (*path, name)) for name, each in inner.items()),
    )


def _all_commands(command: CommandHelp) -> Iterator[CommandHelp]:
    yield command
    for inner in command.commands:
        yield from _all_commands(inner)


def _first_line(text: str) -> str:
    """Return the first sentence of a help, short enough to stand beside a candidate."""
    line = first_sentence(text).rstrip(".")
    return line if len(line) <= _HELP_WIDTH else f"{line[: _HELP_WIDTH - 1].rstrip()}…"


# --- one function for each shell ----------------------------------------------------------------------------


def _write_steps(commands: list[CommandHelp]) -> str:
    """Return the pattern of a `case` that is met when the next word leads to one of these commands."""
    return "|".join(f'"{" ".join(each.path[:-1])}/{each.path[-1]}"' for each in commands if each.path)


def _bash(commands: list[CommandHelp]) -> str:
    steps = _write_steps(commands)
    cases = "\n".join(f'        "{" ".join(each.path)}") words="{" ".join(each.words)}" ;;' for each in commands)
    return f"""# Completion of {PROGRAM} for bash. Add to ~/.bashrc:  eval "$({PROGRAM} completion bash)"
_{PROGRAM}() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" at="" words="" word index
    for ((index = 1; index < COMP_CWORD; index++)); do
        word="${{COMP_WORDS[index]}}"
        case "$at/$word" in
            {steps}) at="${{at:+$at }}$word" ;;
        esac
    done
    case "$at" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _{PROGRAM} {PROGRAM}"""


def _zsh(commands: list[CommandHelp]) -> str:
    def candidate(name: str, help: str) -> str:
        written = help.replace("'", "’").replace(":", "\\:")
        return f"'{name}:{written}'"

    steps = _write_steps(commands)
    listed = {each.path: " ".join(candidate(*pair) for pair in each.words.items()) for each in commands}
    cases = "\n".join(f'        "{" ".join(path)}") candidates=({words}) ;;' for path, words in listed.items())
    return f"""#compdef {PROGRAM}
# Completion of {PROGRAM} for zsh. Add to ~/.zshrc, after compinit:  eval "$({PROGRAM} completion zsh)"
_{PROGRAM}() {{
    local at="" word
    local -a candidates
    for word in ${{words[2,CURRENT-1]}}; do
        case "$at/$word" in
            {steps}) at="${{at:+$at }}$word" ;;
        esac
    done
    case "$at" in
{cases}
    esac
    _describe '{PROGRAM}' candidates || _files
}}
compdef _{PROGRAM} {PROGRAM}"""


def _fish(commands: list[CommandHelp]) -> str:
    steps = " ".join(f'"{" ".join(each.path[:-1])}/{each.path[-1]}"' for each in commands if each.path)
    lines = [
        f"""# Completion of {PROGRAM} for fish. Save as ~/.config/fish/completions/{PROGRAM}.fish:
#     {PROGRAM} completion fish > ~/.config/fish/completions/{PROGRAM}.fish
function __{PROGRAM}_is_at
    set -l at ""
    for word in (commandline -opc)[2..-1]
        switch "$at/$word"
            case {steps}
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv"
end"""
    ]
    for command in commands:
        here = f"complete -c {PROGRAM} -n '__{PROGRAM}_is_at {' '.join(command.path)}'"
        for each in command.commands:
            written = _first_line(each.help).replace("'", "’")
            lines.append(f"{here} -f -a {each.path[-1]} -d '{written}'")
        for option in command.options:
            spelled = " ".join(f"-l {name[2:]}" if name[:2] == "--" else f"-s {name[1:]}" for name in option.names)
            takes = " -r" if option.value else ""
            written = _first_line(option.help).replace("'", "’")
            lines.append(f"{here} {spelled}{takes} -d '{written}'")
    return "\n".join(lines)


def _powershell(commands: list[CommandHelp]) -> str:
    def quoted(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    entries = "\n".join(
        f"        {quoted(' '.join(each.path))} = @("
        # PowerShell takes a list of one pair for the pair itself, unless a comma stands before it.
        + ("," if len(each.words) == 1 else "")
        + ", ".join(f"@({quoted(name)}, {quoted(help or name)})" for name, help in each.words.items())
        + ")"
        for each in commands
    )
    return f"""# Completion of {PROGRAM} for PowerShell. Add to $PROFILE:
#     {PROGRAM} completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName {PROGRAM} -ScriptBlock {{
    param($wordToComplete, $commandAst, $cursorPosition)
    $known = @{{
{entries}
    }}
    $at = ''
    foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {{
        if ($element.Extent.EndOffset -ge $cursorPosition) {{ break }}
        $next = ("$at " + $element.ToString()).Trim()
        if ($known.ContainsKey($next)) {{ $at = $next }}
    }}
    $known[$at] | Where-Object {{ $_[0] -like "$wordToComplete*" }} | ForEach-Object {{
        [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
    }}
}}"""


_SCRIPTS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish, "powershell": _powershell}
"""The function that writes the script of each shell."""
