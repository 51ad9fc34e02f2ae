"""The programming languages that are read: their suffixes, grammars, and the queries that find definitions.

A new language is a line in `LANGUAGES` and a query in `queries/`.
"""

import re
from functools import cache
from importlib import import_module, resources
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from weft.errors import package_command

if TYPE_CHECKING:
    from tree_sitter import Node as SyntaxNode
    from tree_sitter import Parser, Query


class Language(Struct, frozen=True):
    """One language: the suffixes of its files, and the package and entry point of its grammar.

    `queries` are files in `queries/`, joined in this order; by default the one of the language's name. Names of a
    `package` language are known in all files of their folder without being imported. Of an `embedded` one only the
    `<script>` elements are parsed.
    """

    name: str
    suffixes: tuple[str, ...]
    wheel: str
    entry: str = "language"
    queries: tuple[str, ...] = ()
    package: bool = False
    embedded: bool = False


LANGUAGES: Final[tuple[Language, ...]] = (
    # Of Cython, what is also Python is outlined, and the rest kept as text between.
    Language("python", (".py", ".pyi", ".pyw", ".pyx", ".pxd", ".pxi"), "tree_sitter_python"),
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
    # TypeScript for both, whose grammar also understands nearly all of JavaScript.
    Language(
        "vue",
        (".vue",),
        "tree_sitter_typescript",
        "language_typescript",
        ("ecmascript", "typescript"),
        embedded=True,
    ),
    Language(
        "svelte",
        (".svelte",),
        "tree_sitter_typescript",
        "language_typescript",
        ("ecmascript", "typescript"),
        embedded=True,
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
    Language("scala", (".scala", ".sc"), "tree_sitter_scala", package=True),
    Language("elixir", (".ex", ".exs"), "tree_sitter_elixir"),
    Language("lua", (".lua",), "tree_sitter_lua"),
    Language("haskell", (".hs",), "tree_sitter_haskell"),
    Language("zig", (".zig",), "tree_sitter_zig"),
    Language("bash", (".sh", ".bash"), "tree_sitter_bash"),
    Language("sql", (".sql",), "tree_sitter_sql"),
)

_BY_SUFFIX: Final = {suffix: language for language in LANGUAGES for suffix in language.suffixes}

SUFFIXES: Final = frozenset(_BY_SUFFIX)

_INTERPRETER: Final = re.compile(rb"#!\s*\S*?(?:/env\s+(?:-S\s+)?(?:\w+=\S+\s+)*)?([a-z]+)[\d.]*(?:\s|$)")
_BY_INTERPRETER: Final = {
    **dict.fromkeys(("bash", "dash", "ksh", "sh", "zsh"), "bash"),
    **dict.fromkeys(("bun", "deno", "node"), "javascript"),
    **{name: name for name in ("lua", "php", "python", "ruby")},
}
_MODIFIERS: Final = r"(?:(?:public|protected|private|static|final|abstract)[ \t]+)"
_FIRST_LINES: Final[dict[str, str]] = {
    "ruby": r"(?:def|module|class)[ \t]+[A-Za-z_][\w.:]*[?!=]?[^:{\n]*\n(?=.*\bend\s*\Z)",
    "python": r"(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*(?:\([^)\n]*\))?:",
    "go": r"func[ \t]+(?:\([^)\n]*\)[ \t]*)?\w+[\[(]|type[ \t]+\w+[ \t]+(?:struct|interface)\b",
    "rust": r"(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:(?:async|const|unsafe)[ \t]+)*(?:fn|impl|trait)\b",
    # A function without a modifier may be JavaScript, unless its parameters are written with a dollar.
    "php": rf"{_MODIFIERS}+function[ \t]+&?\w+[ \t]*\(|function[ \t]+&?\w+[ \t]*\([^)\n]*\$",
    "javascript": r"(?:export[ \t]+)?(?:(?:default[ \t]+)?(?:async[ \t]+)?function\b[ \t*]*\w*[ \t]*\("
    r"|(?:const|let|var)[ \t]+\w+[ \t]*=[ \t]*(?:async\b|function\b|\())",
    "java": rf"{_MODIFIERS}+[\w<>\[\], .?]+[ \t]*[({{]",
}
"""How the first line of a definition begins, by language, in the order in which they are tried."""
_BEFORE_DEFINITION: Final = r"(?:\s*(?:@\w[^\n]*|#[^\n]*|//[^\n]*|/\*.*?\*/)[ \t]*(?:\n|\Z))*\s*"
"""Decorators and comments that may stand before a definition."""
_SNIFFED_BYTES: Final = 200
"""How much of a file is searched for the line that names its interpreter; it is the first one."""


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


def find_script_language(file: Path) -> Language | None:
    """Return the language of a file without suffix by the interpreter that its first line names, or None."""
    try:
        with file.open("rb") as stream:
            found = _INTERPRETER.match(stream.read(_SNIFFED_BYTES))
    except OSError:
        return None
    name = _BY_INTERPRETER.get(PurePosixPath(found[1].decode()).name) if found else None
    return next((language for language in LANGUAGES if language.name == name), None)


@cache
def has_grammar(language: Language) -> bool:
    """Return whether a language's grammar is installed; those of rarer languages come one by one."""
    return find_spec(language.wheel) is not None


def grammar_command(language: Language) -> str:
    """Return the command that installs a language's grammar."""
    return package_command(language.wheel.replace("_", "-"))


@cache
def _compile(first_line: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: only records of code need these."""
    return re.compile(first_line, re.DOTALL)


def recognise_language(text: str) -> Language | None:
    """Return the language in which the first definition of a text seems to be written, or None."""
    before = _compile(_BEFORE_DEFINITION).match(text)
    start = before.end() if before else 0
    name = next((name for name, line in _FIRST_LINES.items() if _compile(line).match(text, start)), None)
    return next((language for language in LANGUAGES if language.name == name), None)


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
