"""A spec opens its embedder, or an error says why not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from weft.embed import open_embedder
from weft.errors import InvalidInput, MissingExtra, UnknownName


def test_none_means_no_embedder() -> None:
    assert open_embedder("none") is None


def test_an_unknown_spec_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"Unknown embedder 'statik'.*'static'.*fastembed, none, onnx, openai"):
        open_embedder("statik")


@pytest.mark.parametrize("spec", ["onnx", "onnx:", "fastembed", "sentence-transformers:"])
def test_a_spec_without_its_model_says_how_to_write_it(spec: str) -> None:
    with pytest.raises(InvalidInput, match=r"needs a model\. Write "):
        open_embedder(spec)


@pytest.mark.parametrize("spec", ["openai", "openai:model", "openai:@http://localhost", "openai:m@ftp://host"])
def test_an_endpoint_needs_a_model_and_an_address(spec: str) -> None:
    with pytest.raises(InvalidInput, match="openai:MODEL@URL"):
        open_embedder(spec)


@pytest.mark.parametrize(
    ("spec", "module", "wanted"),
    [
        ("onnx:model", "onnxruntime", "'weft-context[quality]'"),
        ("sentence-transformers:model", "sentence_transformers", "sentence-transformers"),
        ("fastembed:model", "fastembed", "fastembed"),
    ],
)
def test_a_missing_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, spec: str, module: str, wanted: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=f"pip install {re.escape(wanted)}"):
        open_embedder(spec)


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = "import sys, weft.embed; print({'numpy', 'tokenizers', 'onnxruntime'} & set(sys.modules))"
    source = Path(__file__).parents[3] / "src"
    finished = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(source)}, capture_output=True, check=True
    )
    assert finished.stdout.strip() == b"set()"
