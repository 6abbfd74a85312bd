/* Streams, and a kernel that takes its time, beside what driver.h has. */
#pragma once
#include "driver.h"

static const char KERNEL[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry simulate()\n{\n ret;\n}\n";

static inline void *new_stream(void) {
    int (*create)(void **, unsigned) = (int (*)(void **, unsigned))by_dlsym("cuStreamCreate");
    void *stream = NULL;
    must(create(&stream, 1), "cuStreamCreate");
    return stream;
}

static inline void simulate(void *stream) {
    typedef int (*launcher)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            void *, void **, void **);
    static void *kernel;
    if (!kernel) {
        int (*load)(void **, const void *) = (int (*)(void **, const void *))by_dlsym("cuModuleLoadData");
        int (*find)(void **, void *, const char *) =
            (int (*)(void **, void *, const char *))by_dlsym("cuModuleGetFunction");
        void *module = NULL;
        must(load(&module, KERNEL), "cuModuleLoadData");
        must(find(&kernel, module, "simulate"), "cuModuleGetFunction");
    }
    launcher launch = (launcher)by_dlsym("cuLaunchKernel");
    must(launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
}

static inline void wait_for(void *stream) {
    must(((int (*)(void *))by_dlsym("cuStreamSynchronize"))(stream), "cuStreamSynchronize");
}

/* As in a real-time pipeline: no stream may be held up by another's memory. */
static inline void forbid_waiting(void) {
    int (*pool_of)(void **, int) = (int (*)(void **, int))by_dlsym("cuDeviceGetDefaultMemPool");
    int (*set)(void *, int, void *) = (int (*)(void *, int, void *))by_dlsym("cuMemPoolSetAttribute");
    void *pool = NULL;
    int no = 0, internal_dependencies = 3;
    must(pool_of(&pool, 0), "cuDeviceGetDefaultMemPool");
    must(set(pool, internal_dependencies, &no), "cuMemPoolSetAttribute");
}
