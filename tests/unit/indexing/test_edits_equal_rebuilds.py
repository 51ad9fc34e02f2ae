"""Whatever is edited, indexing again gives what a store has that is built afresh: nodes, links and pages."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from weft import Weft
from weft.model import View
from worlds import NOW

EDITS = 12
EDITS_BETWEEN_COMPARISONS = 4
WORDS = ("parcel", "stamp", "shelf", "ledger", "clerk", "scales", "counter", "label", "crate", "drawer")
QUESTIONS = (
    "who calls weigh_parcel?",
    "where is Shelf defined?",
    "what changed recently in core.py?",
    "label crate",
)


class Project:
    """A small repository whose files import, extend, rename and mention what others define."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.chance = root, random.Random(seed)
        self.number = 0
        root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        (root / "pkg").mkdir()
        for name in ("core", "desk", "post", "yard"):
            self.write(f"pkg/{name}.py", self.module())
        (root / "pkg" / "__init__.py").write_text(
            "from pkg.core import *\nfrom pkg.desk import weigh_parcel as weigh\n"
        )
        for name in ("guide", "notes"):
            self.write(f"docs/{name}.md", self.prose())
        self.commit()

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def word(self) -> str:
        return self.chance.choice(WORDS)

    def function(self) -> str:
        name = self.chance.choice([f"weigh_{self.word()}", f"find_{self.word()}_in_{self.word()}", self.word()])
        return f"def {name}(thing):\n    return {self.call()}\n"

    def call(self) -> str:
        word = self.word()
        return self.chance.choice(
            [
                f"weigh_{word}(thing)",
                f"{word.title()}().weigh_{self.word()}()",
                f"core.weigh_{word}(thing)",
                f"thing.weigh_{word}()",
                f"w(thing, {word}=1)",
            ]
        )

    def klass(self) -> str:
        base = self.chance.choice(["", f"({self.word().title()})", f"(core.{self.word().title()})"])
        body = f"    def weigh_{self.word()}(self):\n        return self.weigh_{self.word()}()\n"
        return f"class {self.word().title()}{base}:\n{body}"

    def imports(self) -> str:
        word, module = self.word(), self.chance.choice(["core", "desk", "post", "yard"])
        return self.chance.choice(
            [
                f"from pkg import {module}\n",
                f"from pkg.{module} import {word.title()}\n",
                f"from pkg.{module} import weigh_{word} as w\n",
                f"from pkg.{module} import *\n",
                f"import pkg.{module}\n",
            ]
        )

    def module(self) -> str:
        return "\n\n".join([self.imports() + self.imports(), self.klass(), self.function(), self.function()])

    def prose(self) -> str:
        title = f"# {self.word().title()} {self.word().title()}"
        sentences = (f"The {self.word()} `weigh_{self.word()}` knows the {self.word().title()}." for _ in range(3))
        return f"{title}\n\n{' '.join(sentences)} See {self.word().title()} {self.word().title()}.\n"

    def files(self, suffix: str) -> list[Path]:
        return sorted(path for path in self.root.rglob(f"*{suffix}") if ".git" not in path.parts)

    def commit(self) -> None:
        self.git("add", "--all")
        message = f"{self.word().title()} {self.word().title()}: {self.call()}"
        self.git("commit", "--quiet", "--allow-empty", "--message", message)

    # --- edits ---------------------------------------------------------------------------------------------

    def append(self) -> None:
        file = self.chance.choice(self.files(".py"))
        file.write_text(f"{file.read_text()}\n\n{self.chance.choice([self.function, self.klass])()}")

    def comment(self) -> None:
        file = self.chance.choice(self.files(".py"))
        file.write_text(f"{file.read_text()}# {self.word()}\n")

    def replace_word(self) -> None:
        file = self.chance.choice([*self.files(".py"), *self.files(".md")])
        word = self.word()
        for before, after in ((word, self.word()), (word.title(), self.word().title())):
            file.write_text(file.read_text().replace(before, after, self.chance.randint(1, 3)))

    def remove_part(self) -> None:
        file = self.chance.choice(self.files(".py"))
        parts = file.read_text().split("\n\n")
        file.write_text("\n\n".join(parts[: self.chance.randint(1, len(parts))]) + "\n")

    def add_import(self) -> None:
        file = self.chance.choice(self.files(".py"))
        file.write_text(self.imports() + file.read_text())

    def add_file(self) -> None:
        self.number += 1
        self.write(f"pkg/added_{self.number}.py", self.module())
        self.write(f"docs/added_{self.number}.md", self.prose())

    def move_file(self) -> None:
        self.number += 1
        file = self.chance.choice(self.files(".py"))
        file.rename(file.with_name(f"moved_{self.number}.py"))

    def delete_file(self) -> None:
        files = self.files(".py")
        if len(files) > 3:
            self.chance.choice(files).unlink()

    def edit(self) -> None:
        edits: list[Callable[[], None]] = [
            *(self.append, self.comment, self.replace_word, self.replace_word, self.replace_word),
            *(self.remove_part, self.add_import, self.add_file, self.move_file, self.delete_file, self.commit),
        ]
        self.chance.choice(edits)()


def read_everything(store: Path, project: Path) -> dict[str, object]:
    """Index the project into the store, and return what is stored and what is answered."""
    with Weft.open(store) as weft:
        report = weft.index(project)
        assert not report.problems
        rows = list(weft.store.iterate("default"))
        with weft.reading(View(("default",))) as reading:
            edges = reading.snapshot.edges([row.node.id for row in rows], limit=1_000_000)
        pages = [weft.context(question, now=NOW, max_tokens=800).text for question in QUESTIONS]
    by_key = sorted(rows, key=lambda row: row.node.key)
    return {
        "texts": [(row.node.key, row.node.title, row.node.text, row.node.fields) for row in by_key],
        "importance": {row.node.key: row.node.importance for row in by_key},
        "edges": sorted(
            {
                (edge.source, edge.target, edge.type, edge.weight, edge.confidence, edge.evidence)
                for _, _, edge in edges
            }
        ),
        "pages": pages,
    }


@pytest.mark.parametrize("seed", range(4))
def test_indexing_after_random_edits_gives_what_a_new_store_has(tmp_path: Path, seed: int) -> None:
    project = Project(tmp_path / "project", seed)
    read_everything(tmp_path / "store", project.root)
    for number in range(1, EDITS + 1):
        project.edit()
        kept = read_everything(tmp_path / "store", project.root)
        if number % EDITS_BETWEEN_COMPARISONS == 0:
            rebuilt = read_everything(tmp_path / f"rebuilt-{number}", project.root)
            for part, value in rebuilt.items():
                assert kept[part] == value, part


def test_a_text_that_is_written_anew_weighs_what_its_links_say(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", 1)
    before = read_everything(tmp_path / "store", project.root)
    for number, name in enumerate(("core", "desk")):
        module = project.root / "pkg" / f"{name}.py"
        module.write_text(module.read_text().replace("):\n", f"):  # edited {number}\n"))
        after = read_everything(tmp_path / "store", project.root)
        assert after["texts"] != before["texts"]
        assert after["importance"] == before["importance"]
