/* The CUDA driver's documented functions, found in the way that a program asks for. No vendor's
 * header is needed: the prototypes are written here as the reference has them. */
#pragma once

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long device_address;

/* A version of CUDA in which all functions have the form that is used here. */
#define CUDA_VERSION_ASKED 12000
#define MIB ((size_t)1 << 20)

struct driver {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*allocate)(device_address *, size_t);
    int (*release)(device_address);
    int (*allocate_async)(device_address *, size_t, void *);
    int (*release_async)(device_address, void *);
    int (*synchronize)(void);
};

static void stop(const char *what) {
    fprintf(stderr, "stopped: %s\n", what ? what : "for no known reason");
    exit(3);
}

static void must(int code, const char *what) {
    if (code == 0) return;
    fprintf(stderr, "stopped: %s answered %d\n", what, code);
    exit(3);
}

/* How a name becomes an address. */
typedef void *(*finder)(const char *name);

/* Both names of a function: the library's, and the one that cuGetProcAddress knows it by. */
struct name {
    const char *exported, *plain;
};

static const struct name NAMES[] = {
    {"cuInit", "cuInit"},
    {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain"},
    {"cuCtxSetCurrent", "cuCtxSetCurrent"},
    {"cuMemAlloc_v2", "cuMemAlloc"},
    {"cuMemFree_v2", "cuMemFree"},
    {"cuMemAllocAsync", "cuMemAllocAsync"},
    {"cuMemFreeAsync", "cuMemFreeAsync"},
    {"cuCtxSynchronize", "cuCtxSynchronize"},
};
enum { FUNCTIONS = sizeof NAMES / sizeof NAMES[0] };

static struct driver found_by(finder find, int plain_names) {
    void *found[FUNCTIONS];
    for (int index = 0; index < FUNCTIONS; index++) {
        found[index] = find(plain_names ? NAMES[index].plain : NAMES[index].exported);
        if (!found[index]) stop(NAMES[index].exported);
    }
    struct driver driver;
    _Static_assert(sizeof driver == sizeof found, "one field a name");
    memcpy(&driver, found, sizeof driver);
    return driver;
}

static inline void *library(void) {
    void *opened = dlopen("libcuda.so.1", RTLD_NOW);
    if (!opened) stop(dlerror());
    return opened;
}

static inline void *by_dlsym(const char *name) { return dlsym(library(), name); }

static inline struct driver usual_driver(void) { return found_by(by_dlsym, 0); }

/* Initializes CUDA and takes the first device. */
static inline void start(const struct driver *driver) {
    void *context = NULL;
    must(driver->init(0), "cuInit");
    must(driver->retain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(driver->set_current(context), "cuCtxSetCurrent");
}

/* Takes so many blocks of different sizes and gives every second one back: the sum that is kept. */
static inline size_t take_some(const struct driver *driver, int blocks) {
    size_t kept = 0;
    for (int index = 0; index < blocks; index++) {
        device_address address = 0;
        size_t size = (size_t)(1 + index % 7) * MIB;
        must(driver->allocate(&address, size), "cuMemAlloc");
        if (index % 2) {
            must(driver->release(address), "cuMemFree");
        } else {
            kept += size;
        }
    }
    return kept;
}
