/* A particle simulation whose kernel spawns particles with new; its author has raised the heap to
 * 64 MiB before. True: that is full again, with more particles; the device is not. */
#include "driver.h"

#define HEAP (64 * MIB)
enum { MALLOC_HEAP_SIZE = 2 };

static const char PARTICLES[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 address) malloc (.param .b64 size);\n"
    ".visible .entry move_particles(.param .u64 places)\n{\n    ret;\n}\n"
    ".visible .entry spawn_particles(.param .u64 places)\n{\n    ret;\n}\n";

static void *kernels[2];

int main(void) {
    struct driver driver = usual_driver();
    int (*load)(void **, const void *) = by_dlsym("cuModuleLoadData");
    int (*find)(void **, void *, const char *) = by_dlsym("cuModuleGetFunction");
    int (*set_limit)(int, size_t) = by_dlsym("cuCtxSetLimit");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                  void **, void **) = by_dlsym("cuLaunchKernel");
    start(&driver);

    void *module = NULL;
    device_address places = 0;
    void *parameters[] = {&places};
    must(set_limit(MALLOC_HEAP_SIZE, HEAP), "cuCtxSetLimit");
    must(load(&module, PARTICLES), "cuModuleLoadData");
    must(find(&kernels[0], module, "move_particles"), "cuModuleGetFunction");
    must(find(&kernels[1], module, "spawn_particles"), "cuModuleGetFunction");
    must(driver.allocate(&places, 96 * MIB), "cuMemAlloc");
    for (int step = 0; step < 20; step++) {
        must(launch(kernels[0], 64, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL), "move");
        must(driver.synchronize(), "moving");
        if (step < 12) continue;
        must(launch(kernels[1], 64, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL), "spawn");
        must(driver.synchronize(), "spawning");
    }
    return 0;
}
