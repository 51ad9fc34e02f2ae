"""The targets of fuzzing: each takes an input, and fails only where a promise of Weft does not hold."""

import json
import re
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import strategies as st

from fuzz.archives import ARCHIVES
from weft import Weft
from weft.errors import WeftError
from weft.interfaces.request import read_parameters, read_time
from weft.model import FORMATS, Candidate, Node
from weft.pipeline.exact import read_pattern
from weft.pipeline.shapes import read_shapes
from weft.sources import open_source
from weft.text.instructions import find_instructions
from weft.text.redact import redact
from weft.text.sentences import split_sentences

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]")
TOKENS: Mapping[str, tuple[str, ...]] = {
    ".md": (
        *("---\n", "# ", "## ", "```", "~~~", "`", "``", "[[", "]]", "![[", "](", "<", ">", "|", "- [ ] ", "* "),
        *(
            "%%",
            "<!--",
            "-->",
            "::",
            "#tag",
            "^id",
            "((",
            "{{query",
            "}}",
            "key: [",
            "]",
            "&a",
            "*a",
            "> ",
            "    ",
        ),
    ),
    ".html": (
        "<p>",
        "</p>",
        "<table>",
        "<td>",
        "<script>",
        "</script>",
        "<!--",
        "&#",
        "&amp;",
        "<h1>",
        "<pre>",
        '"',
    ),
    ".ipynb": (
        '{"cells":[',
        '{"cell_type":"code","source":',
        "]",
        "}",
        '"x"',
        ",",
        '"metadata":',
        "null",
        "1e999",
    ),
    ".json": ("{", "}", "[", "]", ",", ":", '"id"', '"text"', '"title"', "null", "true", "-1", "1e400", "\\ud800"),
    ".jsonl": ('{"id":1,"text":', "}", "\n", '"x"', "{", '{"role":"user","content":', '"timestamp":', "[", "]"),
    ".csv": (",", '"', "\n", "\r\n", ";", "id,title,text\n", "1,a,b\n", "\x00"),
    ".yaml": ("a: ", "- ", "\n", "  ", "&x ", "*x", "<<: ", "|\n", "!!python/object:x ", "{", "[", "]", "}", "? "),
    ".toml": ("[a]", "[[a]]", "a = ", '"x"', "'''", "\n", "1979-05-27", "inf", "{", "}", "a.b = "),
    ".canvas": (
        '{"nodes":[',
        '{"id":"a","type":"text","text":',
        '"x"',
        "]",
        "}",
        ',"edges":[',
        '{"fromNode":"a"',
        ",",
    ),
    ".base": ("filters:\n", "views:\n", "  - type: table\n", "and:\n", "[", "]", '"', "[[x]]"),
    ".py": (
        "def f(",
        "):\n",
        "    ",
        "class A:\n",
        '"""',
        "'",
        "\\",
        "@x\n",
        "lambda ",
        "(",
        ")",
        "import a\n",
        "\t",
    ),
    ".js": ("function f(", ") {", "}", "`", "${", "/*", "*/", "=>", "class A {", "import x from 'y'\n", "//"),
    ".go": ("package a\n", "func f(", ") {", "}\n", "type T struct {", "`", "/*", "*/", "import (\n"),
    ".txt": ("Chapter 1\n", "\n\n", "I.\n", "***\n", '"', "said ", "Mr. ", "…", "—", "\x0c"),
    ".rst": ("====\n", "----\n", ".. note::\n", "::\n", "`x`_ ", ".. include:: /etc/passwd\n", "|a|"),
    ".mbox": (
        "From a@b Thu Jan 1 00:00:00 1970\n",
        "Subject: ",
        "Content-Type: multipart/mixed; boundary=x\n",
        "\n--x\n",
    ),
}
"""The words of each kind of file that lead a parser from one state into another."""


def words_of(tokens: tuple[str, ...]) -> st.SearchStrategy[bytes]:
    """Inputs made of the words of a format, of text between them, and of bytes that are no text."""
    pieces = st.one_of(
        st.sampled_from(tokens), st.sampled_from(tokens), st.text(max_size=12), st.sampled_from(("\n", " ", "a"))
    )
    written = st.lists(pieces, max_size=60).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))
    repeated = st.tuples(st.sampled_from(tokens), st.integers(1, 3_000)).map(
        lambda each: (each[0] * each[1]).encode()
    )
    return st.one_of(written, written, repeated, st.binary(max_size=200))


def read_file(suffix: str, content: bytes) -> None:
    """A file is read into sound nodes, or refused with a problem; nothing is raised."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"file{suffix}").write_bytes(content)
        source = open_source(folder, name="fuzz", file_times=False)
        for name, _ in list(source.units()):
            unit = source.read(name)
            for node in unit.nodes:
                assert node.key.startswith("fuzz:"), node.key
                # A store keeps UTF-8: what cannot be written as such would be lost later.
                for text in (node.key, node.title, node.summary, node.text, *node.tags):
                    text.encode("utf-8")
                json.dumps(dict(node.fields), default=str)
            assert all(problem.reason for problem in unit.problems)


@cache
def _empty_store() -> Weft:
    return Weft.open(Path(tempfile.mkdtemp(prefix="weft-fuzz-")) / ".weft", embedder=None)


def print_page(text: str) -> None:
    """A page of any format is within its budget, well-formed, and without hidden characters."""
    nodes = [
        Node("fuzz:a", "note", title=text[:60], text=text, tags=(text[:20],), fields={"state": text[:40]}),
        Node("fuzz:b", "function", title="b", text=text, language="python", summary=text[:80]),
    ]
    candidates = tuple(Candidate(node, score=1.0 - number / 10) for number, node in enumerate(nodes))
    for format in FORMATS:
        page = _empty_store().context(
            "fuzz", format=format, candidates=candidates, max_tokens=600, floor=0.0, guard=True, now=NOW
        )
        assert page.tokens <= 600
        assert not HIDDEN.search(page.text), HIDDEN.search(page.text)
        if format == "json":
            json.loads(page.text)
        elif format == "xml":
            ElementTree.fromstring(page.text)


def read_request(text: str) -> None:
    """Words of a request are read, or refused with an error of Weft's own."""
    for read in (read_time, read_pattern, read_shapes, lambda given: read_parameters([given])):
        try:
            read(text)
        except WeftError as error:
            assert str(error)


def read_text(text: str) -> None:
    """Text is taken apart and put together without loss, and nothing is raised."""
    spans = split_sentences(text)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    find_instructions(text)
    redact(text)


PROSE = st.lists(
    st.one_of(st.sampled_from([word for words in TOKENS.values() for word in words]), st.text(max_size=20)),
    max_size=60,
).map("".join)
TARGETS: Mapping[str, tuple[st.SearchStrategy[object], Callable[..., None]]] = {
    **{
        f"read{suffix}": (words_of(tokens), lambda content, suffix=suffix: read_file(suffix, content))
        for suffix, tokens in TOKENS.items()
    },
    **{
        f"read{suffix}": (documents, lambda content, suffix=suffix: read_file(suffix, content))
        for suffix, documents in ARCHIVES.items()
    },
    "print": (PROSE, print_page),
    "request": (PROSE, read_request),
    "text": (PROSE, read_text),
}
"""A strategy and what is done with its inputs, by name."""
