"""Runs a few large matrix products with onnxruntime's CUDA provider."""

import argparse
import ctypes
import json
import pathlib

import numpy
import nvidia
import onnx
import onnxruntime
from onnx import TensorProto, helper

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=4096)
parser.add_argument("--batch", type=int, default=1024)
parser.add_argument("--layers", type=int, default=8)
arguments = parser.parse_args()

# The provider links against them, and they lie in packages of their own.
for folder in nvidia.__path__:
    for name in ("libcurand.so.10", "libcufft.so.12"):
        for file in pathlib.Path(folder).glob(f"*/lib/{name}"):
            ctypes.CDLL(str(file))

width = arguments.width
shape = ["batch", width]
nodes = [helper.make_node("MatMul", [f"x{n}", "weight"], [f"x{n + 1}"]) for n in range(arguments.layers)]
weight = onnx.numpy_helper.from_array(numpy.ones((width, width), numpy.float32), "weight")
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x0", f"x{arguments.layers}")]
graph = helper.make_graph(nodes, "products", ends[:1], ends[1:], [weight])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CUDAExecutionProvider"])
given = numpy.ones((arguments.batch, width), numpy.float32)
for _ in range(3):
    (made,) = session.run(None, {"x0": given})
assert session.get_providers()[0] == "CUDAExecutionProvider", session.get_providers()
print(json.dumps({"shape": made.shape}))
