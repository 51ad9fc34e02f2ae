"""The programming languages that can be read: their files, grammars, and the queries that find things in them."""

from functools import cache
from importlib import import_module, resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from weft.frozen import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node as Branch
    from tree_sitter import Parser, Query


@dataclass(frozen=True, slots=True)
class Language:
    """One language: the suffixes of its files, the wheel that carries its grammar, and what its names share.

    `queries` are files in `queries/`, read one after the other. Names of a `package` language are known in all
    files of their folder without being imported.
    """

    name: str
    suffixes: tuple[str, ...]
    wheel: str
    entry: str = "language"
    queries: tuple[str, ...] = ()
    package: bool = False


LANGUAGES: Final[tuple[Language, ...]] = (
    Language("python", (".py", ".pyi", ".pyw"), "tree_sitter_python"),
    Language(
        "typescript",
        (".ts", ".mts", ".cts"),
        "tree_sitter_typescript",
        "language_typescript",
        ("ecmascript", "typescript"),
    ),
    Language("tsx", (".tsx",), "tree_sitter_typescript", "language_tsx", ("ecmascript", "typescript")),
    Language(
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs"),
        "tree_sitter_javascript",
        queries=("ecmascript", "javascript"),
    ),
    Language("go", (".go",), "tree_sitter_go", package=True),
    Language("rust", (".rs",), "tree_sitter_rust"),
    Language("java", (".java",), "tree_sitter_java", package=True),
    Language("c", (".c",), "tree_sitter_c", queries=("c",)),
    Language("cpp", (".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "tree_sitter_cpp", queries=("c", "cpp")),
    Language("csharp", (".cs",), "tree_sitter_c_sharp", package=True),
    Language("ruby", (".rb", ".rake"), "tree_sitter_ruby"),
    Language("php", (".php",), "tree_sitter_php", "language_php", package=True),
    Language("kotlin", (".kt", ".kts"), "tree_sitter_kotlin", package=True),
    Language("swift", (".swift",), "tree_sitter_swift", package=True),
    Language("bash", (".sh", ".bash"), "tree_sitter_bash"),
    Language("sql", (".sql",), "tree_sitter_sql"),
)

_BY_SUFFIX: Final = {suffix: language for language in LANGUAGES for suffix in language.suffixes}

SUFFIXES: Final = frozenset(_BY_SUFFIX)


@dataclass(frozen=True, slots=True)
class Grammar:
    """What reads one language: its parser and the query that finds definitions, references and imports."""

    parser: "Parser"
    query: "Query"

    def parse(self, content: bytes) -> "Branch":
        """The tree of a file, with errors marked where it does not follow the grammar."""
        return self.parser.parse(content).root_node


def language_of(path: str) -> Language | None:
    """The language of a file, by its suffix."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())


@cache
def grammar_of(language: Language) -> Grammar:
    """The grammar of a language, loaded once."""
    from tree_sitter import Language as Loaded
    from tree_sitter import Parser, Query

    loaded = Loaded(getattr(import_module(language.wheel), language.entry)())
    folder = resources.files("weft.sources.code") / "queries"
    told = [(folder / f"{name}.scm").read_text("utf-8") for name in language.queries or (language.name,)]
    return Grammar(Parser(loaded), Query(loaded, "\n".join(told)))
