/* Calls one function of the driver by its name, with nothing but zeros, and prints what it answers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

typedef int (*function)(long, long, long, long, long, long, long, long, long, long, long, long);

int main(int count, char **words) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    function called = driver && count > 1 ? (function)dlsym(driver, words[1]) : NULL;
    if (!called) {
        fprintf(stderr, "no such function\n");
        return 3;
    }
    printf("%d\n", called(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    return 0;
}
