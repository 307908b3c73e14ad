"""Times OpenVINO's compressed weights on the linear layers of a MusicGen decoder and prints one JSON object.

The model is built by hand, as OpenVINO's own weight compression would leave it: int8 with a scale for each output channel,
int4 with a scale for each 128 inputs of a channel, symmetric, scales f16. Every matrix has weights of its own, and each layer's
input is the output of the one before, as in ggml_network.h. Activations are rounded to int8 in groups ("dynamic quantization")
where OpenVINO has kernels for it: every group size is tried and the fastest counts.
"""
import argparse
import json
import time

import numpy as np
import openvino as ov
from openvino import opset13 as ops

INT4_GROUP = 128
ACTIVATION_GROUPS = (0, 32, 64, 128)  # 0: activations stay f32
MOST_ERROR = 0.05


def matrices(width, layers, codebooks=4, vocabulary=2048):
    """(in, out) of each product of a step, in their order."""
    layer = [(width, 3 * width), (width, width), (width, width), (width, width), (width, 4 * width), (4 * width, width)]
    return layer * layers + [(width, codebooks * vocabulary)]


def int4_constant(values):
    """Two to a byte, the first in the low half. The tensor owns its memory: one made around an array does not keep the array."""
    tensor = ov.Tensor(ov.Type.i4, ov.Shape(values.shape))
    pairs = values.reshape(-1, 2).astype(np.uint8) & 15
    tensor.data[:] = (pairs[:, 0] | (pairs[:, 1] << 4)).view(tensor.data.dtype)
    return ops.constant(tensor)


def compressed(generator, kind, inputs, outputs):
    """The node of one matrix [outputs, inputs] and its values."""
    if kind == "int8":
        integers = generator.integers(-127, 128, (outputs, inputs), np.int8)
        constant = ops.constant(integers, dtype=ov.Type.i8)
        scale = np.full((outputs, 1), 1 / (73.3 * inputs**0.5), np.float16)
        values = integers * scale.astype(np.float32)
    else:
        group = min(INT4_GROUP, inputs)
        shape = [outputs, inputs // group, group]
        integers = generator.integers(-7, 8, shape, np.int8)
        constant = int4_constant(integers)
        scale = np.full((outputs, inputs // group, 1), 1 / (4.32 * inputs**0.5), np.float16)
        values = (integers * scale.astype(np.float32)).reshape(outputs, inputs)
    node = ops.multiply(ops.convert(constant, "f16"), ops.constant(scale))
    if kind == "int4":
        node = ops.reshape(node, ops.constant(np.array([outputs, inputs], np.int64)), False)
    return ops.convert(node, "f32"), values


def network(kind, sizes, rows):
    """The model, and the first matrix's values for the check."""
    generator = np.random.default_rng(1)
    x = source = ops.parameter([rows, sizes[0][0]], np.float32)
    first = product = None
    for inputs, outputs in sizes:
        if x.output(0).shape[1] != inputs:  # attention makes one vector of q, k and v; here it is the first of them
            x = ops.slice(x, *(ops.constant(np.array([n], np.int64)) for n in (0, inputs, 1, 1)))
        node, values = compressed(generator, kind, inputs, outputs)
        x = ops.matmul(x, node, False, True)
        if first is None:
            first, product = values, x
    # The first product is an output too, so that it can be checked.
    return ov.Model([ops.result(x), ops.result(product)], [source], "linear"), first


def measure(core, kind, sizes, rows, threads, passes):
    model, first = network(kind, sizes, rows)
    x = np.random.default_rng(2).standard_normal((rows, sizes[0][0])).astype(np.float32)
    expected = x @ first.T
    candidates = []
    for group in ACTIVATION_GROUPS:
        compiled = core.compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": group})
        request = compiled.create_infer_request()
        request.set_input_tensor(ov.Tensor(x))
        request.infer()
        best = float("inf")
        for _ in range(passes):
            start = time.perf_counter()
            request.infer()
            best = min(best, time.perf_counter() - start)
        got = request.get_output_tensor(1).data
        error = float(np.sqrt(np.square(got - expected).mean() / np.square(expected).mean()))
        if not error < MOST_ERROR:
            raise SystemExit(f"openvino_linear: {kind} with activation groups of {group} is off by {error:.1%}")
        candidates.append({"type": kind, "rows": rows, "activation_group": group, "ms": best * 1e3, "error": error})
        del compiled, request
    return min(candidates, key=lambda run: run["ms"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--types", default="int8,int4")
    parser.add_argument("--rows", default="2,8")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--passes", type=int, default=12)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=24)
    arguments = parser.parse_args()
    core = ov.Core()
    sizes = matrices(arguments.width, arguments.layers)
    runs = [measure(core, kind, sizes, int(rows), arguments.threads, arguments.passes)
            for kind in arguments.types.split(",") for rows in arguments.rows.split(",")]
    features = " ".join(core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"))
    print(json.dumps({"version": ov.__version__.split("-")[0], "features": features, "threads": arguments.threads, "runs": runs}))


if __name__ == "__main__":
    main()
