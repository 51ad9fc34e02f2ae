"""What .gitignore and .weftignore say is not to be read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from weft.frozen import dataclass

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_FILES: Final = (".gitignore", ".weftignore")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one folder; paths are told from that folder on, which is `depth` characters into them."""

    spec: "GitIgnoreSpec"
    depth: int

    def verdict(self, path: str) -> bool | None:
        """Whether the path is ignored, kept on purpose, or not spoken of."""
        return self.spec.check_file(path[self.depth :]).include


def rules_above(root: Path) -> tuple[tuple[Rules, ...], str]:
    """The rules of the folders between a repository and `root`, outermost first, and the way down to `root`."""
    resolved = root.resolve()
    repository = next((each for each in (resolved, *resolved.parents) if (each / ".git").exists()), None)
    if repository is None or repository == resolved:
        return (), ""
    way = resolved.relative_to(repository).parts
    folders = [repository.joinpath(*way[:depth]) for depth in range(len(way))]
    depths = [len("".join(f"{part}/" for part in way[:depth])) for depth in range(len(way))]
    found = [rules for folder, depth in zip(folders, depths, strict=True) for rules in rules_in(folder, depth)]
    return tuple(found), "".join(f"{part}/" for part in way)


def rules_in(folder: Path, depth: int) -> Iterator[Rules]:
    """The rules that a folder's own files give, if it has any."""
    lines = [line for name in _FILES for line in _lines(folder / name)]
    if folder.joinpath(".git").is_dir():
        lines += _lines(folder / ".git" / "info" / "exclude")
    if lines:
        # Most folders have no such files, and those who only read notes need not load this.
        from pathspec import GitIgnoreSpec

        yield Rules(GitIgnoreSpec.from_lines(lines), depth)


def is_ignored(path: str, rules: Sequence[Rules]) -> bool:
    """Whether the innermost rules that speak of a path ignore it; the path of a folder ends in `/`."""
    for each in reversed(rules):
        verdict = each.verdict(path)
        if verdict is not None:
            return verdict
    return False


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
