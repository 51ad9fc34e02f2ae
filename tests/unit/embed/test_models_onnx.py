"""A BERT-like ONNX model: what goes in, how it is pooled, what is said when a file is missing."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from weft.embed import open_embedder
from weft.embed.models import MAX_TEXT_TOKENS, OnnxEmbedder
from weft.errors import EmbedderError, InvalidInput

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "river", "bank", "##s", "."]
VOCABULARY = {piece: row for row, piece in enumerate(PIECES)}
TABLE = np.arange(len(PIECES) * 4, dtype=np.float32).reshape(-1, 4) ** 1.5


class TableSession:
    """Answers each token with its row of a table, as a model without layers would."""

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name="input_ids"), SimpleNamespace(name="attention_mask")]

    def run(self, _: None, feed: dict[str, Any]) -> list[Any]:
        assert set(feed) == {"input_ids", "attention_mask"}
        assert feed["input_ids"].shape[1] <= MAX_TEXT_TOKENS
        return [TABLE[feed["input_ids"]]]


def pooled(*pieces: str) -> Any:
    mean = TABLE[[VOCABULARY[piece] for piece in ("[CLS]", *pieces, "[SEP]")]].mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_tokens_are_averaged_without_the_padding_and_in_the_order_given() -> None:
    embedder = OnnxEmbedder(TableSession(), VOCABULARY, "onnx:table")
    rows = embedder.embed(["River banks.", "", "xyz", "bank"])
    assert embedder.dimensions == 4
    assert np.allclose(rows[0], pooled("river", "bank", "##s", "."), atol=1e-6)
    assert not rows[1].any()
    assert np.allclose(rows[2], pooled("[UNK]"), atol=1e-6)
    assert np.allclose(rows[3], pooled("bank"), atol=1e-6)


def test_a_long_text_is_cut_to_what_the_model_reads() -> None:
    embedder = OnnxEmbedder(TableSession(), VOCABULARY, "onnx:table")
    assert np.allclose(np.linalg.norm(embedder.embed(["river " * 5_000]), axis=1), 1.0, atol=1e-6)


def test_a_missing_model_or_vocabulary_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="No ONNX model at"):
        open_embedder(f"onnx:{tmp_path}")
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"No vocab\.txt beside"):
        open_embedder(f"onnx:{tmp_path}")


def test_a_real_model_file_is_run(tmp_path: Path) -> None:
    table = onnx.numpy_helper.from_array(TABLE, "table")
    node = onnx.helper.make_node("Gather", ["table", "input_ids"], ["hidden"])
    given = onnx.helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["texts", "tokens"])
    hidden = onnx.helper.make_tensor_value_info("hidden", onnx.TensorProto.FLOAT, ["texts", "tokens", 4])
    graph = onnx.helper.make_graph([node], "table", [given], [hidden], [table])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    embedder = open_embedder(f"onnx:{tmp_path}")
    assert embedder is not None
    assert embedder.name.startswith("onnx:")
    assert np.allclose(embedder.embed(["river bank"])[0], pooled("river", "bank"), atol=1e-6)


@pytest.mark.parametrize("vocabulary", ["\n".join(PIECES).encode(), b"\xff\xfe"])
def test_a_file_that_is_no_model_is_an_error_that_names_it(tmp_path: Path, vocabulary: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    (tmp_path / "vocab.txt").write_bytes(vocabulary)
    with pytest.raises(EmbedderError, match=r"model\.onnx cannot be used"):
        open_embedder(f"onnx:{tmp_path}")
