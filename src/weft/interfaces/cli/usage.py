"""Add to the help that Typer makes of the functions: commands in sections, whole summaries, and examples.

Loaded only when help is printed, or a command is typed without what it needs.
"""

from typing import Any, Final

from typer.core import TyperGroup

from weft.interfaces.cli import SECTIONS

EXAMPLES: Final = {
    "": (
        "weft init                              # set up the working folder",
        'weft context "Why do we retry?"        # one page about a question',
        "weft COMMAND --help                    # options and examples of a command",
    ),
    "init": ("weft init", "weft init ~/vault --kind vault --client claude-code"),
    "demo": ("weft demo", 'weft demo "Who approves a large refund?" --max-tokens 300', "weft demo --copy worlds"),
    "index": ("weft index .", "weft index ~/notes my-novel.docx --watch"),
    "status": ("weft status", "weft status --json"),
    "doctor": ("weft doctor", "weft doctor --repair"),
    "context": (
        'weft context "Why do we retry eight times?"',
        'weft context "Cargo bike" --lens planning --max-tokens 800',
        'weft context "Did Odo drown?" --as-of 3 --explain',
    ),
    "search": ('weft search "refund approval" --limit 5', 'weft search --exact "def take(" --path src'),
    "ask": ('weft ask "Who approves a large refund?" --endpoint http://localhost:11434/v1 --model llama3.2',),
    "explore": ("weft explore", 'weft explore "Why do we retry eight times?"'),
    "show": ("weft show Queue.take", "weft show src/queue.py:40-60", "weft show src/queue.py --outline"),
    "related": ("weft related Queue.take --type calls --direction in",),
    "log": ("weft log Queue.take --limit 5",),
    "history": ("weft history", "weft history 3f2a"),
    "diff": ("weft diff 3f2a 9c41", "weft diff --since 3f2a"),
    "install": ("weft install claude-code --dry-run", "weft install cursor --user", "weft install codex --hooks"),
    "mcp": ("weft mcp", "weft mcp --http --port 8765 --write"),
    "remember": ('weft remember "Integration tests need Redis on port 6380" --category fact',),
    "memories": ("weft memories", "weft memories redis --category fact", "weft memories audit"),
    "forget": ("weft forget memory:3f2a9c41 --prove",),
    "export": ("weft export memories.jsonl",),
    "import": ("weft import memories.jsonl --dry-run",),
    "experience": ("weft experience list", "weft experience show exp-3f2a"),
    "premortem": ("weft premortem debugging --strategy trial-and-error",),
    "values": ("weft values --refresh",),
    "story": ("weft story chapters", 'weft story known "Isaura Bell" --as-of 3', "weft story check"),
    "entities": ("weft entities list", 'weft entities merge "Odo Farrant" "the clerk"', "weft entities undo 1"),
    "profile": ("weft profile list", "weft profile show general", "weft profile check mine.toml"),
    "lens": ("weft lens list", "weft lens new mine --from planning"),
    "eval": ("weft eval questions.json --source . --budget 1000", "weft eval compare before.jsonl after.jsonl"),
    "remove": ("weft remove notes",),
    "link": ("weft link --threshold 0.8",),
    "reembed": ("weft reembed --embedder quality",),
    "copy": ("weft copy --from .weft --to 'postgresql://weft@db.example.org/knowledge'",),
    "backup": ("weft backup backups/today", "weft backup backups/archive --incremental"),
    "restore": ("weft restore backups/today", "weft restore backups/archive --at 1200 --store restored"),
    "migrate": ("weft migrate",),
    "serve": ("weft serve", "weft serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem"),
    "keys": ("weft keys create --tenant support --name bot", "weft keys list", "weft keys revoke 74eae0dd"),
    "tenants": ("weft tenants list", "weft tenants export support support.zst"),
    "jobs": ("weft jobs list",),
    "cluster": ("weft cluster status",),
    "share": ("weft share support handbook",),
    "completion": ("weft completion bash > ~/.local/share/bash-completion/completions/weft",),
}
"""Lines to type, by command: first the shortest form that does something, then one with what is used most."""


class Group(TyperGroup):
    """A group whose help prints the first sentence of each command whole, under the title of its section."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, section by section, all summaries beginning in one column."""
        commands = {name: self.commands[name] for name in self.list_commands(ctx)}
        column = max(map(len, commands), default=0)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in commands.items():
            title = getattr(command, "rich_help_panel", None) or "Commands"
            sections.setdefault(title, []).append((name.ljust(column), first_sentence(command.help or "")))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class Program(Group):
    """The whole command line: its commands stand in the order of their sections."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands as `weft --help` lists them."""
        return [name for commands in SECTIONS.values() for name in commands if name in self.commands]


def first_sentence(help: str) -> str:
    """Return the first sentence of a command's help."""
    return " ".join(help.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".") + "."


def find_example(path: str) -> str | None:
    """Return the first example of a command by its whole path, such as `weft keys create`, or None."""
    lines = EXAMPLES.get(path.split()[1], ()) if " " in path else ()
    return next((line for line in lines if line.startswith(f"{path} ")), None)


def write_examples(name: str, decorated: bool) -> str | None:
    """Return the end of a command's help: lines to type, or None where the command has none."""
    lines = EXAMPLES.get(name)
    if lines is None:
        return None
    if decorated:
        # Between paragraphs, because Rich joins the lines of one.
        return "\n\n".join(("Examples:", *lines))
    # The first character keeps the lines apart.
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))
