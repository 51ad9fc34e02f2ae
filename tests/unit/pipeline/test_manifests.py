"""Pages tell what a project is and what it runs on, in repositories of several languages."""

from pathlib import Path

import pytest

from weft import Weft

FILLER = "".join(f"# Setting {number} of the build is left as it is.\n" for number in range(60))
POM = """<project>
  <artifactId>ferry</artifactId>
  <name>Ferry</name>
  <description>Carries parcels over the river.</description>
{filler}
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
  </properties>
</project>
"""
GEMSPEC = """# frozen_string_literal: true

Gem::Specification.new do |s|
  s.name = "ferry"
  s.summary = "Carries parcels over the river."
{filler}
  s.required_ruby_version = ">= 3.1.7"
end
"""
CARGO = """[package]
name = "ferry"
rust-version.workspace = true
{filler}
[workspace.package]
rust-version = "1.88"
"""
SCRIPTS = "".join(f'    "step{number}": "true",\n' for number in range(40))
PACKAGE = f"""{{
  "name": "ferry",
  "description": "Carries parcels over the river.",
  "dependencies": {{
    "rope": "^2.0.0",
    "anchor": "^1.2.0"
  }},
  "scripts": {{
{SCRIPTS}    "test": "true"
  }},
  "engines": {{
    "node": ">= 18.4"
  }}
}}
"""
README = """# Ferry

Ferry carries parcels over the river and knows their weight. The oldest ferry runs at least once a day, and others
as there is need for them; a release of the rope is compiled into a list of packages that depend on it.
"""


def index(folder: Path, name: str, text: str) -> Weft:
    folder.mkdir()
    (folder / name).write_text(text, "utf-8")
    (folder / "README.md").write_text(README)
    weft = Weft.open(folder.with_name("store"))
    weft.index(folder)
    return weft


@pytest.mark.parametrize(
    ("name", "text", "question", "answer"),
    [
        ("pom.xml", POM.format(filler=FILLER.replace("#", " ")), "For which Java release is it compiled?", ">17<"),
        ("ferry.gemspec", GEMSPEC.format(filler=FILLER), "Which Ruby does it need at least?", ">= 3.1.7"),
        ("Cargo.toml", CARGO.format(filler=FILLER), "Which minimum Rust version is required?", '"1.88"'),
        ("package.json", PACKAGE, "What is the oldest Node it runs on?", ">= 18.4"),
        ("package.json", PACKAGE, "minimum Node version", ">= 18.4"),
    ],
)
def test_the_version_of_a_language_is_read_from_the_manifest(
    tmp_path: Path, name: str, text: str, question: str, answer: str
) -> None:
    with index(tmp_path / "ferry", name, text) as weft:
        page = weft.context(question, max_tokens=400).text
    assert answer in page
    assert name in page


def test_what_is_needed_is_still_the_list_of_packages(tmp_path: Path) -> None:
    with index(tmp_path / "ferry", "package.json", PACKAGE) as weft:
        assert '"anchor"' in weft.context("Which packages does it depend on?", max_tokens=400).text


def test_a_workspace_is_introduced_by_the_package_of_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "ferry"
    for package in ("anchor", "ferry", "rope"):
        (folder / package).mkdir(parents=True)
        (folder / package / "README.md").write_text(
            f"# {package}\n\nThe package {package} is one of those that carry parcels over the river.\n"
        )
    (folder / "README.md").symlink_to("ferry/README.md")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(folder)
        context = weft.context("What is this project?", max_tokens=400)
    assert context.sources[0].key == "ferry:ferry/README.md"
