#!/bin/sh
# Builds the RMM scenario: build.sh OUT_DIR CUDA_ROOT LIBRMM
#
# CUDA_ROOT has include and lib (of the PyPI packages: site-packages/nvidia/cu13), LIBRMM is the folder of the
# PyPI package librmm-cu12 24.12 (site-packages/librmm): the last version whose logging is in its headers. Later
# ones, and RMM's Python package, hold NVIDIA's runtime inside, which the simulated GPU cannot serve.
set -eu

out=${1:?usage: build.sh OUT_DIR CUDA_ROOT LIBRMM}
cuda=${2:?usage: build.sh OUT_DIR CUDA_ROOT LIBRMM}
rmm=${3:?usage: build.sh OUT_DIR CUDA_ROOT LIBRMM}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

# The runtime is linked shared, without a search path: who runs the program decides which one it meets.
g++ -std=c++17 -O0 -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE -DSPDLOG_FMT_EXTERNAL \
    -isystem "$rmm/include" -isystem "$rmm/include/rapids/libcudacxx" -isystem "$rmm/include/rapids" \
    -isystem "$cuda/include" -o "$out/pipeline" "$here/pipeline.cpp" \
    -L"$cuda/lib" -l:libcudart.so.13 -L"$rmm/lib64" -lspdlog -lfmt -Wl,-rpath,"$rmm/lib64"
