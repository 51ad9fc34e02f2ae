"""The programming languages that are read: their suffixes, grammars, and the queries that find definitions.

A new language is a line in `LANGUAGES` and a query in `queries/`.
"""

from functools import cache
from importlib import import_module, resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Node as SyntaxNode
    from tree_sitter import Parser, Query


class Language(Struct, frozen=True):
    """One language: the suffixes of its files, and the package and entry point of its grammar.

    `queries` are files in `queries/`, joined in this order; by default the one of the language's name. Names of a
    `package` language are known in all files of their folder without being imported.
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
    # A grammar of its own, because `<T>value` is a cast in `.ts` and an element in `.tsx`.
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
    # Headers are read as C++, whose grammar also understands nearly all of C.
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


class Grammar(Struct, frozen=True):
    """The parser of one language, and the query that finds definitions, references and imports."""

    parser: "Parser"
    query: "Query"

    def parse(self, content: bytes) -> "SyntaxNode":
        """Parse a file into a tree, with error nodes where it does not follow the grammar."""
        return self.parser.parse(content).root_node


def find_language(path: str) -> Language | None:
    """Return the language of a file by its suffix, or None."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())


@cache
def load_grammar(language: Language) -> Grammar:
    """Load the grammar of a language; it is kept for the next call."""
    # Loaded here: grammars are large, and most runs read no code or few languages.
    from tree_sitter import Language as LoadedLanguage
    from tree_sitter import Parser, Query

    loaded = LoadedLanguage(getattr(import_module(language.wheel), language.entry)())
    folder = resources.files("weft.sources.code") / "queries"
    queries = [(folder / f"{name}.scm").read_text("utf-8") for name in language.queries or (language.name,)]
    return Grammar(Parser(loaded), Query(loaded, "\n".join(queries)))
