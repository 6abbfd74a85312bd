/*
 * Makes a call that is no allocation and finds no memory: `refuses graph` fills the GPU and instantiates a graph of 64
 * fills, `refuses map` maps memory. Prints the driver's answer.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SLACK ((size_t)32 << 20)
#define PAGE ((size_t)2 << 20)
#define NODES 64
#define CALL(name, ...) ((int (*)(__VA_ARGS__))dlsym(driver, name))
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int answer = (call);                                                                                           \
        if (answer != 0) {                                                                                             \
            printf("%s: %d\n", #call, answer);                                                                         \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* CUmemAllocationProp: pinned memory of device 0. */
struct properties {
    uint32_t kind, handles, place;
    int32_t device;
    uint64_t windows, flags;
};

/* Leaves less than the graph takes, without a refusal. */
static int fill(void *driver) {
    uint64_t address;
    size_t available, total;
    CHECK(CALL("cuMemGetInfo_v2", size_t *, size_t *)(&available, &total));
    CHECK(CALL("cuMemAlloc_v2", uint64_t *, size_t)(&address, available - SLACK));
    return 0;
}

static int graph(void *driver, int *refusal) {
    uint64_t stream, memory, graph, executable;
    CHECK(CALL("cuMemAlloc_v2", uint64_t *, size_t)(&memory, PAGE));
    CHECK(CALL("cuStreamCreate", uint64_t *, unsigned)(&stream, 1));
    CHECK(CALL("cuStreamBeginCapture_v2", uint64_t, unsigned)(stream, 2));
    for (unsigned node = 0; node < NODES; node++)
        CHECK(CALL("cuMemsetD32Async", uint64_t, unsigned, size_t, uint64_t)(memory, node, 4, stream));
    CHECK(CALL("cuStreamEndCapture", uint64_t, uint64_t *)(stream, &graph));
    CHECK(fill(driver));
    *refusal = CALL("cuGraphInstantiateWithFlags", uint64_t *, uint64_t, uint64_t)(&executable, graph, 0);
    return 0;
}

static int map(void *driver, int *refusal) {
    uint64_t address, handle;
    struct properties wanted = {.kind = 1, .place = 1};
    CHECK(CALL("cuMemAddressReserve", uint64_t *, size_t, size_t, uint64_t, uint64_t)(&address, PAGE, 0, 0, 0));
    CHECK(CALL("cuMemCreate", uint64_t *, size_t, struct properties *, uint64_t)(&handle, PAGE, &wanted, 0));
    *refusal = CALL("cuMemMap", uint64_t, size_t, size_t, uint64_t, uint64_t)(address, PAGE, 0, handle, 0);
    return 0;
}

int main(int count, char **words) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int refusal = 0;
    if (!driver || count != 2)
        return 1;
    CHECK(CALL("cuInit", unsigned)(0));
    CHECK(CALL("cuDevicePrimaryCtxRetain", void **, int)(&context, 0));
    CHECK(CALL("cuCtxSetCurrent", void *)(context));
    CHECK(strcmp(words[1], "map") == 0 ? map(driver, &refusal) : graph(driver, &refusal));
    printf("{\"answer\": %d}\n", refusal);
    return 0;
}
