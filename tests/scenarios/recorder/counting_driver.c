/* A libcuda.so.1 before the lab's: it writes down every look-up that reaches the driver, so that
 * what a recorder says it has seen can be checked against it. Everything else is the lab's, which
 * this library depends on under another name. Its own functions carry a version, which dlvsym needs.
 *
 * WHYOOM_COUNTED names the file: a line `NAME answered` or `NAME absent` for each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long device_address;

static void *real(const char *name) {
    static void *lab;
    if (!lab) lab = dlopen("libreal_cuda.so", RTLD_NOW);
    void *found = lab ? dlsym(lab, name) : NULL;
    if (!found) abort();
    return found;
}

static void count(const char *name, int answered) {
    const char *path = getenv("WHYOOM_COUNTED");
    if (!path) return;
    char line[256];
    const char *fate = answered ? "answered" : "absent";
    int length = snprintf(line, sizeof line, "%s %s\n", name, fate);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0 || write(file, line, (size_t)length) != length) abort();
    close(file);
}

int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long long flags,
                        int *status) {
    int (*ask)(const char *, void **, int, unsigned long long, int *) = real("cuGetProcAddress_v2");
    int code = ask(name, found, version, flags, status);
    count(name, code == 0 && *found);
    /* Whoever asks for the asking function must come back here. */
    if (code == 0 && *found && strcmp(name, "cuGetProcAddress") == 0) *found = cuGetProcAddress_v2;
    return code;
}

int cuGetProcAddress(const char *name, void **found, int version, unsigned long long flags) {
    int (*ask)(const char *, void **, int, unsigned long long) = real("cuGetProcAddress");
    int code = ask(name, found, version, flags);
    count(name, code == 0 && *found);
    return code;
}

int cuInit(unsigned flags) {
    int (*forward)(unsigned) = real("cuInit");
    return forward(flags);
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    int (*forward)(void **, int) = real("cuDevicePrimaryCtxRetain");
    return forward(context, device);
}

int cuCtxSetCurrent(void *context) {
    int (*forward)(void *) = real("cuCtxSetCurrent");
    return forward(context);
}

int cuMemAlloc_v2(device_address *address, size_t size) {
    int (*forward)(device_address *, size_t) = real("cuMemAlloc_v2");
    return forward(address, size);
}

int cuMemFree_v2(device_address address) {
    int (*forward)(device_address) = real("cuMemFree_v2");
    return forward(address);
}

int cuMemAllocAsync(device_address *address, size_t size, void *stream) {
    int (*forward)(device_address *, size_t, void *) = real("cuMemAllocAsync");
    return forward(address, size, stream);
}

int cuMemFreeAsync(device_address address, void *stream) {
    int (*forward)(device_address, void *) = real("cuMemFreeAsync");
    return forward(address, stream);
}

int cuCtxSynchronize(void) {
    int (*forward)(void) = real("cuCtxSynchronize");
    return forward();
}
