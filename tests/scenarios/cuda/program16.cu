// Memory of CUDA graphs: taken at the first launch, shared by graphs of one stream, held while an
// allocation is not freed, and kept until it is trimmed. Then a cudaMalloc that needs it. Meant for a
// device of 2 GiB.
//
// True: what the texts of NVIDIA's sample graphMemoryFootprint (NVIDIA/cuda-samples) say of a real
// device, for allocations of 64 MiB as there. Its part with several streams needs kernels that take
// time, and is a test of the lab itself.
#include <cstdint>

#include "truth.h"

constexpr int GRAPHS = 8;
constexpr size_t PART = 64 * MIB;

static uint64_t figure(cudaGraphMemAttributeType which) {
    uint64_t value = 0;
    cudaDeviceGetGraphMemAttribute(0, which, &value);
    return value;
}

static uint64_t footprint() { return figure(cudaGraphMemAttrReservedMemCurrent); }
static uint64_t in_use() { return figure(cudaGraphMemAttrUsedMemCurrent); }

static cudaMemAllocNodeParams on_device(size_t bytes) {
    cudaMemAllocNodeParams parameters = {};
    parameters.bytesize = bytes;
    parameters.poolProps.allocType = cudaMemAllocationTypePinned;
    parameters.poolProps.location.type = cudaMemLocationTypeDevice;
    parameters.poolProps.location.id = 0;
    return parameters;
}

// A graph that allocates, and frees again if asked to. The graph itself is not needed any longer.
static cudaGraphExec_t allocating(bool freeing, void **address) {
    cudaGraph_t graph;
    cudaGraphNode_t alloc, free;
    cudaGraphCreate(&graph, 0);
    cudaMemAllocNodeParams parameters = on_device(PART);
    cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &parameters);
    *address = parameters.dptr;
    if (freeing) cudaGraphAddMemFreeNode(&free, graph, &alloc, 1, parameters.dptr);
    cudaGraphExec_t exec = nullptr;
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    return exec;
}

// Two allocations one behind the other in one graph.
static bool shares_addresses() {
    cudaGraph_t graph;
    cudaGraphNode_t first, gone, second, end;
    cudaGraphCreate(&graph, 0);
    cudaMemAllocNodeParams one = on_device(PART), two = on_device(PART);
    cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &one);
    cudaGraphAddMemFreeNode(&gone, graph, &first, 1, one.dptr);
    cudaGraphAddMemAllocNode(&second, graph, &gone, 1, &two);
    cudaGraphAddMemFreeNode(&end, graph, &second, 1, two.dptr);
    cudaGraphDestroy(graph);
    return one.dptr == two.dptr;
}

int main() {
    Truth truth(16, "graph-memory-held");
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    truth.must("addresses are used again inside a graph", shares_addresses());

    void *address;
    cudaGraphExec_t execs[GRAPHS];
    for (auto &exec : execs) exec = allocating(true, &address);
    truth.must("instantiating takes no memory", footprint() == 0);
    for (auto &exec : execs) {
        cudaGraphLaunch(exec, stream);
        truth.must("graphs of one stream share memory", footprint() == PART && in_use() == PART);
    }
    cudaStreamSynchronize(stream);
    for (auto &exec : execs) cudaGraphExecDestroy(exec);
    truth.must("it is kept when the graphs are gone", footprint() == PART);
    cudaDeviceGraphMemTrim(0);
    truth.must("a trim gives it back", footprint() == 0);

    void *held[GRAPHS];
    for (int index = 0; index < GRAPHS; index++) {
        execs[index] = allocating(false, &held[index]);
        cudaGraphLaunch(execs[index], stream);
        const uint64_t sum = PART * (index + 1);
        truth.must("what is not freed is not shared", footprint() == sum && in_use() == sum);
    }
    truth.must("and not launched again",
               cudaGraphLaunch(execs[0], stream) == cudaErrorInvalidValue);
    cudaStreamSynchronize(stream);
    cudaDeviceGraphMemTrim(0);
    truth.must("nor trimmed", in_use() == PART * GRAPHS);
    for (auto pointer : held) cudaFreeAsync(pointer, stream);
    cudaStreamSynchronize(stream);
    truth.must("a free keeps it for graphs", in_use() == PART * GRAPHS);

    const size_t free_before = free_bytes(), request = free_before + PART;
    void *buffer = nullptr;
    const cudaError_t before_trim = cudaMalloc(&buffer, request);
    cudaGetLastError();
    cudaDeviceGraphMemTrim(0);
    truth.must("all is freed: a trim gives all back", footprint() == 0 && in_use() == 0);
    const cudaError_t after_trim = cudaMalloc(&buffer, request);

    truth.number("request", request);
    truth.number("free_before_request", free_before);
    truth.number("graph_memory", PART * GRAPHS);
    truth.text("cudaMalloc", cudaGetErrorName(before_trim));
    truth.must("a trim makes room for it", after_trim == cudaSuccess);
    return truth.tell();
}
