#!/bin/sh
# Builds the CUDA scenarios: build.sh OUT_DIR CUDA_ROOT
#
# CUDA_ROOT has bin/nvcc, include and lib (for the PyPI packages: site-packages/nvidia/cu13). Only
# what is older than its sources is built again. The runtime is linked shared, as libcudart.so.13,
# without a search path: who runs the programs decides which one they meet.
set -eu

out=${1:?usage: build.sh OUT_DIR CUDA_ROOT}
cuda=${2:?usage: build.sh OUT_DIR CUDA_ROOT}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

# PTX only, of the oldest architecture that CUDA 13 knows: any device takes it, and it builds fast.
nvcc() {
    "$cuda/bin/nvcc" -gencode arch=compute_75,code=compute_75 -O0 -g \
        -cudart none -L"$cuda/lib" "$@" -l:libcudart.so.13
}

# What a source is to the compiler: without a kernel it needs no pass for the device.
language() {
    if grep -q __global__ "$1"; then echo cu; else echo c++; fi
}

# Whether the first file is missing or older than one of the others.
stale() {
    target=$1
    shift
    for input in "$@"; do
        if [ ! -e "$target" ] || [ "$input" -nt "$target" ]; then return 0; fi
    done
    return 1
}

if stale "$out/libleaky.so" "$here/leaky.cu" "$here/leaky.h" "$here/build.sh"; then
    nvcc -shared -Xcompiler -fPIC -Xlinker -soname,libleaky.so \
        -o "$out/libleaky.so" "$here/leaky.cu"
fi

for source in "$here"/program*.cu "$here"/cost.cu; do
    program=$(basename "$source" .cu)
    if ! stale "$out/$program" "$source" "$here/truth.h" "$here/leaky.h" "$here/build.sh"; then
        continue
    fi
    set -- -x "$(language "$source")" -o "$out/$program" "$source"
    if [ "$program" = program12 ]; then
        # shellcheck disable=SC2016  # $ORIGIN is for the loader.
        set -- "$@" -L"$out" -lleaky -Xlinker -rpath,'$ORIGIN'
    fi
    nvcc "$@"
done
