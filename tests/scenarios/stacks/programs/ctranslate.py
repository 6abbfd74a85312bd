"""Loads a translation model of random weights into CTranslate2."""

import argparse
import json

import ctranslate2
import numpy

parser = argparse.ArgumentParser()
parser.add_argument("--count", type=int, default=8)
parser.add_argument("--megabytes", type=int, default=256)
arguments = parser.parse_args()

assert ctranslate2.get_cuda_device_count() > 0, "CTranslate2 sees no GPU"
array = numpy.zeros(arguments.megabytes * (1 << 20) // 4, numpy.float32)
kept = [
    ctranslate2.StorageView.from_array(array).to_device(ctranslate2.Device.cuda) for _ in range(arguments.count)
]
print(json.dumps({"arrays": len(kept), "device": str(kept[0].device)}))
