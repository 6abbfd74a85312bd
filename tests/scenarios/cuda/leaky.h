// A library that loses device memory at every call.
#pragma once

#include <cstddef>

constexpr size_t LEAKED_PER_CALL = size_t{4} << 20;

// Multiplies `count` numbers on the device by `factor`; 0 when all went well.
extern "C" int leaky_scale(float *numbers, int count, float factor);
