"""Write the graph of the encoder behind the embedder `quality`: `python scripts/quality_graph.py [FILE]`.

The graph is that of a RoBERTa-like encoder for one text, without its weights: they are marked as lying outside,
and `weft.embed.quality` hands them over from memory. Matrices stay bytes, with one scale for every 64 of a row as
in the package, and what enters them becomes bytes in the same way: the cosine with vectors of full precision
is .9998. With one scale for all that enters a layer it would be twice as fast, and the cosine .95.
Needs: pip install onnx.
"""

import sys
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

HIDDEN, HEADS, INNER, LAYERS = 384, 12, 1536, 6
"""The shape of granite-embedding-30m-english."""
EPSILON = 1e-12
GROUP = 64
"""Numbers of a row that have one scale."""
INTEGERS = 4
"""The level of accuracy at which the runtime multiplies integers."""
OPSET, IR_VERSION = 20, 9
"""The oldest operators that have Gelu, and the file format that came with them: older runtimes read it too."""
FILE = Path(__file__).parents[1] / "src" / "weft" / "embed" / "data" / "encoder.onnx"


class Graph:
    """Nodes and initial values, as they are added."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.values: list[TensorProto] = []

    def add(self, operator: str, inputs: list[str], domain: str = "", **attributes: object) -> str:
        """Add a node with one output, and return the name of that."""
        output = f"t{len(self.nodes) + 1}"
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def constant(self, name: str, value: object) -> str:
        """Add a small value that is part of the file."""
        self.values.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, name: str, kind: int, *shape: int) -> str:
        """Add a value that is given when the graph is loaded."""
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights")
        self.values.append(tensor)
        return name

    def linear(self, value: str, name: str, size: int, outputs: int) -> str:
        """Multiply by a matrix of bytes, with one scale a group of them, and add a bias."""
        groups = size // GROUP
        matrix = self.weight(f"{name}.w", TensorProto.UINT8, outputs, groups, GROUP)
        scales = self.weight(f"{name}.s", TensorProto.FLOAT, outputs * groups)
        bias = self.weight(f"{name}.b", TensorProto.FLOAT, outputs)
        form = {"K": size, "N": outputs, "bits": 8, "block_size": GROUP, "accuracy_level": INTEGERS}
        return self.add("MatMulNBits", [value, matrix, scales, "", "", bias], domain="com.microsoft", **form)

    def normalise(self, value: str, name: str) -> str:
        """Bring every row to mean 0 and deviation 1, then scale and shift it."""
        weights = [self.weight(f"{name}.{part}", TensorProto.FLOAT, HIDDEN) for part in ("w", "b")]
        return self.add("LayerNormalization", [value, *weights], axis=-1, epsilon=EPSILON)


def build() -> ModelProto:
    """Return the model: rows of token vectors in, the vector of the first token out."""
    graph = Graph()
    size = HIDDEN // HEADS
    by_head = graph.constant("by_head", np.array([0, HEADS, size], dtype=np.int64))
    joined = graph.constant("joined", np.array([0, HIDDEN], dtype=np.int64))
    thirds = graph.constant("thirds", np.array([HIDDEN] * 3, dtype=np.int64))
    scale = graph.constant("scale", np.array(size**-0.5, dtype=np.float32))
    first, second = (graph.constant(name, np.array([at], dtype=np.int64)) for at, name in enumerate(("0", "1")))
    rows = graph.normalise("embedded", "emb_ln")
    for layer in range(LAYERS):
        name = f"l{layer}"
        parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
        mixed = graph.linear(rows, f"{name}.qkv", HIDDEN, 3 * HIDDEN)
        graph.nodes.append(helper.make_node("Split", [mixed, thirds], parts, axis=1))
        if layer == LAYERS - 1:
            # Only the first token's vector is wanted of the last layer.
            parts[0] = graph.add("Slice", [parts[0], first, second, first])
            rows = graph.add("Slice", [rows, first, second, first])
        orders = ([1, 0, 2], [1, 2, 0], [1, 0, 2])
        query, key, value = [
            graph.add("Transpose", [graph.add("Reshape", [part, by_head])], perm=order)
            for part, order in zip(parts, orders, strict=True)
        ]
        near = graph.add("Softmax", [graph.add("MatMul", [graph.add("Mul", [query, scale]), key])], axis=-1)
        seen = graph.add("Transpose", [graph.add("MatMul", [near, value])], perm=[1, 0, 2])
        seen = graph.linear(graph.add("Reshape", [seen, joined]), f"{name}.ao", HIDDEN, HIDDEN)
        rows = graph.normalise(graph.add("Add", [rows, seen]), f"{name}.aln")
        inner = graph.add("Gelu", [graph.linear(rows, f"{name}.f1", HIDDEN, INNER)])
        rows = graph.normalise(
            graph.add("Add", [rows, graph.linear(inner, f"{name}.f2", INNER, HIDDEN)]), f"{name}.fln"
        )
    graph.nodes.append(helper.make_node("Identity", [rows], ["vector"]))
    inputs = [helper.make_tensor_value_info("embedded", TensorProto.FLOAT, ["tokens", HIDDEN])]
    outputs = [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, HIDDEN])]
    made = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.values)
    operators = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=operators, ir_version=IR_VERSION)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    target.write_bytes(build().SerializeToString(deterministic=True))
    print(f"{target}: {target.stat().st_size:,} bytes")
