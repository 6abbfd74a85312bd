// What an allocation and its free cost through PyTorch's own interface.
//
//   cost POOL_LIBRARY ROUNDS         all, in turn: the medians, as JSON
//   cost POOL_LIBRARY count PAIRS    the same under callgrind, with --instr-atstart=no --collect-atstart=no
//
// The allocators are native (PyTorch's own), wrapper (PyTorch's pluggable allocator over one that does
// nothing: what any allocator that is plugged in must bear), pool (plugged in) and alone: the pool by its own
// functions, without PyTorch's wrapper and the lock that this takes.

#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

namespace {

using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
using Clock = std::chrono::steady_clock;

constexpr size_t kPairs = 20'000;   // of one thread in a round
constexpr size_t kThreads = 8;
constexpr size_t kLive = 48;        // blocks that a thread keeps while it goes on
constexpr size_t kKinds = 4;

// Sizes as a training step has them: statistics, weights' rows, activations, logits.
constexpr std::array<size_t, 16> kSizes = {
    512,     2'048,     4'096,     16'384,    65'536,     131'072,   262'144,    524'288,
    786'432, 1'048'576, 1'572'864, 3'145'728, 6'291'456,  8'388'608, 12'582'912, 25'165'824};

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "cost: %s\n", what);
    std::exit(1);
}

// An allocator that does nothing: addresses that differ, from a counter of each thread.
void *nothing_alloc(size_t, int, cudaStream_t) {
    static std::atomic<uintptr_t> threads{0};
    thread_local uintptr_t next = (++threads) << 40;
    return reinterpret_cast<void *>(next = (next & ~uintptr_t{0xffffff}) | ((next + 512) & 0xffffff));
}
void nothing_free(void *, size_t, int, cudaStream_t) {}

using Alloc = void *(ssize_t, int, cudaStream_t);
using Free = void(void *, ssize_t, int, cudaStream_t);
Alloc *pool_alloc = nullptr;
Free *pool_free = nullptr;

std::shared_ptr<Allocator> pluggable(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) fail(dlerror());
    pool_alloc = reinterpret_cast<Alloc *>(dlsym(library, "whyoom_torch_alloc"));
    pool_free = reinterpret_cast<Free *>(dlsym(library, "whyoom_torch_free"));
    if (pool_alloc == nullptr || pool_free == nullptr) fail("the pool's library lacks its functions");
    return torch::cuda::CUDAPluggableAllocator::createCustomAllocator(pool_alloc, pool_free);
}

// What one thread does with one allocator.
struct Worker {
    Allocator *allocator;  // none: the pool alone
    cudaStream_t stream;
    std::vector<size_t> order;  // of sizes
    std::vector<void *> live;

    Worker(Allocator *allocator, cudaStream_t stream, unsigned seed)
        : allocator(allocator), stream(stream), order(4096), live(kLive) {
        std::mt19937 random(seed);
        for (size_t &size : order) size = kSizes[random() % kSizes.size()];
    }

    void *take(size_t size) {
        return allocator != nullptr ? allocator->raw_alloc_with_stream(size, stream)
                                    : pool_alloc(static_cast<ssize_t>(size), 0, stream);
    }

    void give(void *block) {
        if (allocator != nullptr) {
            allocator->raw_delete(block);
        } else {
            pool_free(block, 0, 0, stream);
        }
    }

    // Each block is freed before the next is asked for.
    __attribute__((noinline)) void one_at_a_time(size_t pairs) {
        for (size_t i = 0; i < pairs; ++i) {
            give(take(order[i % order.size()]));
        }
    }

    // The oldest of those that are live is freed for each new one.
    __attribute__((noinline)) void among_others(size_t pairs) {
        for (size_t i = 0; i < pairs; ++i) {
            void *&place = live[i % kLive];
            if (place != nullptr) give(place);
            place = take(order[i % order.size()]);
        }
    }

    void drop() {
        for (void *&block : live) {
            if (block != nullptr) give(block);
            block = nullptr;
        }
    }
};

using Turn = void (Worker::*)(size_t);

// Nanoseconds that a pair takes one thread, and all threads together.
double alone(Worker &worker, Turn turn) {
    auto start = Clock::now();
    (worker.*turn)(kPairs);
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kPairs;
}

double together(std::vector<Worker> &workers, Turn turn) {
    std::barrier begin(static_cast<std::ptrdiff_t>(workers.size() + 1));
    std::vector<std::thread> threads;
    for (Worker &worker : workers) {
        threads.emplace_back([&worker, &begin, turn] {
            begin.arrive_and_wait();
            (worker.*turn)(kPairs);
        });
    }
    auto start = Clock::now();
    begin.arrive_and_wait();
    for (std::thread &thread : threads) thread.join();
    double taken = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    return taken / static_cast<double>(kPairs * workers.size());
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

constexpr std::array<const char *, kKinds> kNames = {"native", "wrapper", "pool", "alone"};
constexpr std::array<std::pair<const char *, Turn>, 2> kTurns = {
    {{"one_at_a_time", &Worker::one_at_a_time}, {"among_others", &Worker::among_others}}};

// The allocators take turns within a round, so that all meet the same machine.
void measure(const std::array<Allocator *, kKinds> &allocators,
             const std::vector<cudaStream_t> &streams, const char *name, Turn turn, size_t rounds) {
    std::vector<std::vector<Worker>> crews(kKinds);
    for (size_t kind = 0; kind < kKinds; ++kind) {
        for (size_t i = 0; i < kThreads; ++i) {
            crews[kind].emplace_back(allocators[kind], streams[i], static_cast<unsigned>(i));
        }
    }
    std::array<std::vector<double>, kKinds> one, eight;
    for (size_t round = 0; round <= rounds; ++round) {
        for (size_t kind = 0; kind < kKinds; ++kind) {
            double first = alone(crews[kind][0], turn), all = together(crews[kind], turn);
            if (round == 0) continue;  // it fills the caches
            one[kind].push_back(first);
            eight[kind].push_back(all);
        }
    }
    for (auto &crew : crews) {
        for (Worker &worker : crew) worker.drop();
    }
    std::printf("\"%s\": {", name);
    for (size_t kind = 0; kind < kKinds; ++kind) {
        std::printf("\"%s\": {\"one_ns\": %.1f, \"eight_ns\": %.1f}%s", kNames[kind],
                    median(one[kind]), median(eight[kind]), kind + 1 < kKinds ? ", " : "");
    }
    std::printf("}");
}

// All of them, each once its cache is filled. Callgrind writes a file for each.
void count(const std::array<Allocator *, kKinds> &allocators, cudaStream_t stream, size_t pairs) {
    CALLGRIND_START_INSTRUMENTATION;  // PyTorch's own start is long
    for (auto [name, turn] : kTurns) {
        for (size_t kind = 0; kind < kKinds; ++kind) {
            std::string label = std::string(name) + " " + kNames[kind];
            Worker worker(allocators[kind], stream, 0);
            (worker.*turn)(worker.order.size());
            CALLGRIND_TOGGLE_COLLECT;
            (worker.*turn)(pairs);
            CALLGRIND_TOGGLE_COLLECT;
            CALLGRIND_DUMP_STATS_AT(label.c_str());
            worker.drop();
        }
    }
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3 && (argc != 4 || std::strcmp(argv[2], "count") != 0)) {
        fail("usage: cost POOL_LIBRARY ROUNDS | cost POOL_LIBRARY count PAIRS");
    }
    c10::cuda::CUDACachingAllocator::init(1);
    std::vector<cudaStream_t> streams;
    for (size_t i = 0; i < kThreads; ++i) {
        streams.push_back(c10::cuda::getStreamFromPool(false, 0).stream());
    }
    auto wrapper =
        torch::cuda::CUDAPluggableAllocator::createCustomAllocator(nothing_alloc, nothing_free);
    auto pool = pluggable(argv[1]);
    std::array<Allocator *, kKinds> allocators = {c10::cuda::CUDACachingAllocator::get(),
                                                  wrapper.get(), pool.get(), nullptr};
    if (argc == 4) {
        count(allocators, streams[0], std::strtoull(argv[3], nullptr, 10));
        std::_Exit(0);
    }
    size_t rounds = std::strtoull(argv[2], nullptr, 10);
    const char *before = "{";
    for (auto [name, turn] : kTurns) {
        std::printf("%s", before);
        measure(allocators, streams, name, turn, rounds);
        before = ", ";
    }
    std::printf("}\n");
    std::fflush(stdout);
    std::_Exit(0);  // PyTorch's own tear-down is not what is measured
}
