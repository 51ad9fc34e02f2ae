"""The example worlds, indexed once, and the requests whose pages are kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from weft import Weft
from weft.model import Filter, Json, Request, View

NOW = datetime(2026, 3, 1, tzinfo=UTC)
EXAMPLES = Path(__file__).parents[2] / "examples"
WORLDS = Path(__file__).parent / "worlds"
"""The folder with what the examples lack: code, conversations, and something told twice."""
PAGES = Path(__file__).parent / "pages"
SUFFIX = {"markdown": "md", "xml": "xml", "plain": "txt", "json": "json"}


@dataclass(frozen=True)
class Golden:
    """One page that is kept: which worlds it is about, and what is asked."""

    world: str
    question: str = ""
    profile: str = "general"
    start: tuple[str, ...] = ()
    lens: str | None = None
    max_tokens: int = 900
    format: str = "markdown"
    tenants: tuple[str, ...] = ("default",)
    as_of: int | None = None
    preset: str | None = None
    filter: Filter = Filter()  # noqa: RUF009  (frozen)
    parameters: Mapping[str, Json] = field(default_factory=dict)

    def request(self) -> Request:
        """Return the request for the page."""
        return Request(
            question=self.question,
            start=self.start,
            profile=self.profile,
            preset=self.preset,
            lens=self.lens,
            max_tokens=self.max_tokens,
            format=self.format,
            filter=self.filter,
            view=View(self.tenants, self.as_of),
            parameters=self.parameters,
        )


LOCKED = "Why did the worker say database is locked?"
BOOTS = "Why were Odo Farrant's boots dry?"
REFUND = "How do I process a refund?"
EVERYONE = ("default", "support", "analytics", "purchasing", "finance", "shared")

GOLDEN: Mapping[str, Golden] = {
    **{f"general-{format}": Golden("repo", LOCKED, format=format, max_tokens=700) for format in SUFFIX},
    "shared": Golden(
        "all", "What must be checked before something is written twice?", tenants=EVERYONE, max_tokens=1500
    ),
    "narrative": Golden("novel", BOOTS, "narrative", max_tokens=1800),
    "narrative-as-of": Golden("novel", BOOTS, "narrative", max_tokens=1000, as_of=3),
    "narrative-character": Golden("novel", "Who is Odo Farrant?", "narrative", max_tokens=1500, preset="quick"),
    "narrative-allies": Golden("novel", "Who are Tamsin Roke's allies?", "narrative", max_tokens=2000),
    "narrative-timeline": Golden(
        "novel", "What happened to the tide clerks?", "narrative", preset="timeline", max_tokens=2000
    ),
    "narrative-place": Golden("novel", "What is the Counting House?", "narrative", max_tokens=1000),
    "narrative-xml": Golden("novel", "Where is Pellwick?", "narrative", format="xml", max_tokens=700),
    "knowledge": Golden("helpdesk", REFUND, "knowledge", tenants=("support",), max_tokens=1500),
    **{
        f"notes-{lens}": Golden("novel", "", "notes", start=("Pellwick",), lens=lens, max_tokens=900)
        for lens in ("general", "writing", "coding", "planning", "meeting-prep")
    },
    "notes-names-only": Golden("novel", "tide tables", "notes", max_tokens=200),
    **{
        f"workspace-{format}": Golden("repo", LOCKED, "workspace", format=format, max_tokens=1500)
        for format in SUFFIX
    },
    "workspace-map": Golden("repo", "What is this project?", "workspace", max_tokens=1200),
    "learning": Golden("repo", LOCKED, "learning", max_tokens=1500),
    "premortem": Golden(
        "repo",
        "",
        "premortem",
        parameters={"domain": "debugging", "strategy": "systematic-elimination"},
        max_tokens=1500,
    ),
    "empty": Golden("novel", "A recipe for eel pie", filter=Filter(kinds=("recipe",)), max_tokens=300),
}


def open_world(folder: Path, world: str, embedder: str | None = "static") -> Weft:
    """A store with one of the example worlds, or all of them."""
    weft = Weft.open(folder / f"{world}-{embedder}" / ".weft", embedder=embedder)
    weft.index(*(EXAMPLES / name for name in ("helpdesk", "novel", "repo") if world in (name, "all")))
    if world == "repo":
        weft.index(WORLDS, source="more")
    return weft


def page_of(name: str) -> Path:
    """Where a golden page is kept."""
    return PAGES / f"{name}.{SUFFIX[GOLDEN[name].format]}"
