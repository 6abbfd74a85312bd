#!/bin/sh
# Builds what measures the cost: build.sh OUT TORCH CUDA
#
# TORCH is PyTorch's folder (site-packages/torch), CUDA has include (for the PyPI packages:
# site-packages/nvidia/cu13). PyTorch's libraries are found at run time where they were found now.
set -eu

out=${1:?usage: build.sh OUT TORCH CUDA}
torch=${2:?usage: build.sh OUT TORCH CUDA}
cuda=${3:?usage: build.sh OUT TORCH CUDA}
here=$(cd "$(dirname "$0")" && pwd)
if [ "$out" -nt "$here/cost.cpp" ] && [ "$out" -nt "$here/build.sh" ]; then exit 0; fi

# What the wheel links by its own search path is not needed to link this.
g++ -std=c++20 -O2 -pthread -w -o "$out" "$here/cost.cpp" \
    -I"$torch/include" -I"$torch/include/torch/csrc/api/include" -I"$cuda/include" \
    -L"$torch/lib" -Wl,-rpath,"$torch/lib" -Wl,--no-as-needed -Wl,--allow-shlib-undefined \
    -lc10 -lc10_cuda -ltorch_cpu -ltorch_cuda -ldl
