// What is true when a scenario ends, told as one JSON line on standard output.
//
// The programs themselves are as naive as their authors would have written them. This header only
// lets them say at the end, through documented calls, what a diagnosis of them must agree with.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#include <cuda_runtime.h>

constexpr size_t MIB = size_t{1} << 20;
constexpr size_t GIB = size_t{1} << 30;

// Drivers keep a few small slabs for themselves after a free, and may load code at a launch.
constexpr size_t SLACK = 4 * MIB;
constexpr size_t SLACK_WITH_KERNELS = 32 * MIB;

// Free bytes of the current device; 0 where the driver does not answer.
inline size_t free_bytes() {
    size_t free = 0, total = 0;
    return cudaMemGetInfo(&free, &total) == cudaSuccess ? free : 0;
}

inline bool about(size_t left, size_t right, size_t slack) {
    return (left > right ? left - right : right - left) <= slack;
}

class Truth {
  public:
    Truth(int program, const char *cause) : start_(free_bytes()) {
        number("program", program);
        text("cause", cause);
        number("free_at_start", start_);
    }

    size_t free_at_start() const { return start_; }

    void number(const char *name, unsigned long long value) { add(name, std::to_string(value)); }

    void text(const char *name, const char *value) { add(name, std::string("\"") + value + '"'); }

    // A condition without which the scenario does not show what it is meant to show.
    void must(const char *condition, bool holds) {
        if (holds) return;
        failed_ += (failed_.empty() ? "\"" : ",\"") + std::string(condition) + '"';
    }

    // Prints the line; what main returns.
    int tell() {
        add("failed", '[' + failed_ + ']');
        add("holds", failed_.empty() ? "true" : "false");
        std::printf("{%s}\n", fields_.c_str());
        return failed_.empty() ? 0 : 1;
    }

  private:
    void add(const char *name, const std::string &value) {
        fields_ += (fields_.empty() ? "\"" : ",\"") + std::string(name) + "\":" + value;
    }

    size_t start_;
    std::string fields_;
    std::string failed_;
};
