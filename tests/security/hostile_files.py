"""Files that are small and would take much memory or time to read, by name; each is made when it is asked for."""

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from itertools import pairwise

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
TYPES = (
    f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{MAIN}"/></Types>'
)
RELATIONS = (
    f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{DOCUMENT}" Target="word/document.xml"/></Relationships>'
)
LETTERS = "abcdefghij"
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {own} "{f"&{before};" * 10}">' for before, own in pairwise(LETTERS))
    + "]>"
)
"""Ten entities, each ten times the one before it: a billion letters in a few hundred bytes."""
OUTSIDE = '<!DOCTYPE x [<!ENTITY j SYSTEM "file:///etc/passwd">]>'
YAML_LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 10)
)


def packed(parts: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return made.getvalue()


def word(body: str, head: str = "") -> bytes:
    document = f"{head}<w:document {WORD}><w:body>{body}</w:body></w:document>"
    return packed({"[Content_Types].xml": TYPES, "_rels/.rels": RELATIONS, "word/document.xml": document})


def office(body: str, head: str = "") -> bytes:
    root = f'o:document-content xmlns:o="{OFFICE}:office:1.0" xmlns:text="{OFFICE}:text:1.0"'
    content = f"{head}<{root}><o:body>{body}</o:body></o:document-content>"
    return packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def book(page: str, repetitions: int = 1, head: str = "") -> bytes:
    container = (
        f'<container xmlns="{OFFICE}:container"><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'
    )
    order = '<itemref idref="a"/>' * repetitions
    contents = (
        f'{head}<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml"/>&j;'
        f"</manifest><spine>{order}</spine></package>"
    )
    parts = {"META-INF/container.xml": container, "p.opf": contents if head else contents.replace("&j;", "")}
    return packed({**parts, "a.xhtml": page})


def pdf(content: bytes) -> bytes:
    """A PDF of one page whose content is packed twice."""
    twice = zlib.compress(zlib.compress(content, 9), 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        b"<</Length %d/Filter[/FlateDecode/FlateDecode]>>stream\n%s\nendstream" % (len(twice), twice),
    ]
    made, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj%sendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return made + b"xref\n0 5\n0000000000 65535 f \n%strailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(made),
    )


ARCHIVES: Mapping[str, Callable[[], bytes]] = {
    "laughs.docx": lambda: word("<w:p><w:r><w:t>&j;</w:t></w:r></w:p>", LAUGHS),
    "laughs.odt": lambda: office("<text:p>&j;</text:p>", LAUGHS),
    "laughs.epub": lambda: book("<p>page</p>", head=LAUGHS),
    "outside.docx": lambda: word("<w:p><w:r><w:t>&j;</w:t></w:r></w:p>", OUTSIDE),
    "outside.odt": lambda: office("<text:p>&j;</text:p>", OUTSIDE),
    "outside.epub": lambda: book("<p>page</p>", head=OUTSIDE),
    "elements.docx": lambda: word("<w:p/>" * 4_000_000),
    "elements.odt": lambda: office("<text:p/>" * 4_000_000),
    "deep.docx": lambda: word("<w:p>" * 500_000),
    "deep.odt": lambda: office("<text:p>" * 500_000),
    "long.docx": lambda: word(f"<w:p><w:r><w:t>{'a' * 210_000_000}</w:t></w:r></w:p>"),
    "many.docx": lambda: packed({str(number): "" for number in range(25_000)}),
}
"""Archives that must be refused."""

OTHERS: Mapping[str, Callable[[], bytes]] = {
    "again.epub": lambda: book(f"<p>{'word ' * 100_000}</p>", 100_000),
    "deep.html": lambda: b"<div>" * 300_000,
    "deep.json": lambda: b"[" * 2_000_000,
    "nested.json": lambda: b'{"a":' * 900 + b"1" + b"}" * 900,
    "deep.jsonl": lambda: b"[" * 2_000_000,
    "deep.ipynb": lambda: b'{"cells":' + b"[" * 2_000_000,
    "lists.ipynb": lambda: b'{"cells":' + b"[" * 900 + b"]" * 900 + b',"metadata":{},"nbformat":4}',
    "cells.ipynb": lambda: json.dumps({"cells": [{"cell_type": "raw", "source": "x"}] * 500_000}).encode(),
    "deep.toml": lambda: b"a=" + b"[" * 300_000,
    "laughs.yaml": YAML_LAUGHS.encode,
    "deep.yaml": lambda: b"[" * 100_000,
    "closed.yaml": lambda: b"a: " + b"[" * 100_000 + b"]" * 100_000,
    "dashes.yaml": lambda: b"- " * 100_000 + b"x",
    "deep.base": lambda: b"a: " + b"[" * 100_000,
    "dashes.md": lambda: b"---\n" + b"- " * 32_000 + b"x\n---\ntext\n",
    "laughs.md": f"---\n{YAML_LAUGHS}---\ntext\n".encode,
    "deep-matter.md": lambda: b"---\na: " + b"[" * 60_000 + b"\n---\ntext\n",
    "brackets.md": lambda: b"[" * 50_000,
    "emphasis.md": lambda: b"*a_" * 30_000,
    "quotes.md": lambda: b">" * 50_000,
    "links.md": lambda: b"[a](<" * 20_000,
    "ticks.md": lambda: b"".join(b"`" * length + b" " for length in range(1, 1_500)),
    "wiki.md": lambda: b"[[" * 50_000 + b"x]]",
    "nested.py": lambda: b"(" * 100_000,
    "deep.js": lambda: b"a(" * 100_000,
    "deep.c": lambda: b"{" * 100_000,
    "packed.pdf": lambda: pdf(b" " * 100_000_000),
    "open.csv": lambda: b'a,b\n"' + b"x" * 5_000_000,
    "board.canvas": lambda: b'{"nodes":' + b"[" * 900 + b"]" * 900 + b"}",
    "mail.mbox": lambda: (
        b"From a@b Thu Jan  1 00:00:00 1970\n" + b"Content-Type: multipart/mixed; boundary=x\n\n--x\n" * 20_000
    ),
    "turned.txt": lambda: "\u202e".encode() * 300_000,
    "deep.xml": lambda: b"<a>" * 300_000,
    "laughs.xml": f"{LAUGHS}<x>&j;</x>".encode,
}
"""Files that are read or refused, within bounds."""
