// The pool from C++: ownership, exceptions, adaptors. Exit status 0 where everything holds, 3 where there is no
// GPU: what needs none is looked at first.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "whyoom_pool.hpp"

#define HOLDS(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            std::printf("line %d: not so: %s\n", __LINE__, #condition);                               \
            std::exit(1);                                                                             \
        }                                                                                             \
    } while (0)

// Host memory, and no more than it was told.
struct host_resource {
    std::size_t most;
    void *allocate(std::size_t bytes, void *) {
        if (bytes > most) {
            throw whyoom::bad_alloc("the host has no more");
        }
        return std::malloc(bytes);
    }
    void deallocate(void *address, std::size_t, void *) noexcept { std::free(address); }
};

template <class Resource> std::string refusal(Resource &resource, std::size_t bytes) {
    try {
        resource.allocate(bytes, nullptr);
    } catch (const std::bad_alloc &error) {
        return error.what();
    }
    return "";
}

static void limit_is_exact() {
    host_resource host{1000};
    whyoom::limit_adaptor limited{host, 800};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread) {
        threads.emplace_back([&limited] {
            for (int turn = 0; turn < 2000; ++turn) {
                void *mine = limited.allocate(100); // an eighth each: none may be refused
                limited.deallocate(mine, 100);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    HOLDS(limited.allocated() == 0);
    HOLDS(refusal(limited, 801) == "801 bytes do not fit under the limit of 800, of which 0 are allocated: "
                                   "free some, or raise the limit");
    whyoom::limit_adaptor generous{host, 100000};
    HOLDS(refusal(generous, 2000) == "the host has no more" && generous.allocated() == 0);
}

static void statistics_and_owners() {
    host_resource host{1 << 20};
    whyoom::statistics_adaptor counted{host};
    {
        auto floats = whyoom::make_unique<float>(counted, 100);
        auto bytes = whyoom::make_unique<char>(counted, 50);
        HOLDS(counted.bytes().current == 450 && floats.get_deleter().bytes() == 400);
        auto moved = std::move(floats);
        HOLDS(!floats && moved);
    }
    HOLDS(counted.bytes().current == 0 && counted.bytes().peak == 450 && counted.bytes().total == 450);
    HOLDS(counted.allocations().peak == 2 && counted.allocations().current == 0);
    bool refused = false;
    try {
        whyoom::make_unique<double>(counted, SIZE_MAX / 4);
    } catch (const std::bad_alloc &) {
        refused = true;
    }
    HOLDS(refused);
}

static void log_is_rmms() {
    std::ostringstream out;
    host_resource host{100};
    whyoom::limit_adaptor limited{host, 80};
    whyoom::log_adaptor logged{limited, out};
    void *stream = reinterpret_cast<void *>(0x7f00);
    void *address = logged.allocate(60, nullptr);
    HOLDS(!refusal(logged, 70).empty());
    logged.deallocate(address, 60, stream);

    std::istringstream lines(out.str());
    std::string line;
    HOLDS(std::getline(lines, line) && line == "Thread,Time,Action,Pointer,Size,Stream");
    char pointer[32];
    std::snprintf(pointer, sizeof pointer, "%p", address);
    const std::string expected[] = {std::string(",allocate,") + pointer + ",60,0",
                                    ",allocate failure,(nil),70,0",
                                    std::string(",free,") + pointer + ",60,0x7f00"};
    for (const auto &end : expected) {
        HOLDS(std::getline(lines, line) && line.size() > end.size());
        HOLDS(line.compare(line.size() - end.size(), end.size(), end) == 0);
        int hour, minute, second, micros;
        long thread;
        HOLDS(std::sscanf(line.c_str(), "%ld,%2d:%2d:%2d.%6d", &thread, &hour, &minute, &second, &micros) == 5);
    }
}

static int the_pool() {
    whyoom::pool_resource pool{0};
    whyoom::statistics_adaptor counted{pool};
    try {
        auto block = whyoom::make_unique<float>(counted, 1 << 20);
        HOLDS(counted.bytes().current == 4 << 20 && pool.statistics().allocated == 4 << 20);
        pool.use(block.get(), nullptr);
    } catch (const whyoom::bad_alloc &error) {
        std::printf("no GPU: %s\n", error.what());
        HOLDS(error.code() == WHYOOM_POOL_INVALID_DEVICE && std::strlen(error.what()) > 10);
        return 3;
    }
    HOLDS(pool.statistics().blocks == 0);
    HOLDS(!refusal(pool, std::size_t{1} << 50).empty());
    std::puts("holds");
    return 0;
}

int main() {
    limit_is_exact();
    statistics_and_owners();
    log_is_rmms();
    return the_pool();
}
