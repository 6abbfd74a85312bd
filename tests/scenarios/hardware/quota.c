/*
 * A quota as shared clusters have it: a preloaded library that stands before dlsym and before the driver's own look-up,
 * and refuses what goes beyond WHYOOM_QUOTA bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*Alloc)(uint64_t *, size_t);
typedef int (*Find)(const char *, void **, int, uint64_t, void *);

static size_t used;
static Alloc real_alloc;
static Find real_find;

static void *loader(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return real(handle, name);
}

static int alloc(uint64_t *address, size_t bytes) {
    const char *quota = getenv("WHYOOM_QUOTA");
    if (quota && used + bytes > strtoull(quota, NULL, 10))
        return 2;
    int answer = real_alloc(address, bytes);
    if (answer == 0)
        used += bytes;
    return answer;
}

static int find(const char *name, void **function, int version, uint64_t flags, void *status) {
    int answer = real_find(name, function, version, flags, status);
    if (answer == 0 && strcmp(name, "cuMemAlloc") == 0) {
        real_alloc = (Alloc)*function;
        *function = (void *)alloc;
    }
    return answer;
}

void *dlsym(void *handle, const char *name) {
    void *found = loader(handle, name);
    if (found && strcmp(name, "cuMemAlloc_v2") == 0) {
        real_alloc = (Alloc)found;
        return (void *)alloc;
    }
    if (found && strcmp(name, "cuGetProcAddress_v2") == 0) {
        real_find = (Find)found;
        return (void *)find;
    }
    return found;
}
