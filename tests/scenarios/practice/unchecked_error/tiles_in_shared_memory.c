/* A tiled product with 96 KiB of dynamic shared memory a block, whose error is found behind the next
 * allocation. True: without asking, a block has 48 KiB, so the launch failed; memory is healthy. */
#include "driver.h"

#define TILES (96 << 10)
enum { MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };

static const char PRODUCT[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry multiply_tiles(.param .u64 out)\n{\n    ret;\n}\n";

static int last_error;

static void keep(int code) {
    if (code) last_error = code;
}

int main(void) {
    struct driver driver = usual_driver();
    int (*load)(void **, const void *) = by_dlsym("cuModuleLoadData");
    int (*find)(void **, void *, const char *) = by_dlsym("cuModuleGetFunction");
    int (*set_attribute)(void *, int, int) = by_dlsym("cuFuncSetAttribute");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                  void **, void **) = by_dlsym("cuLaunchKernel");
    start(&driver);

    void *module = NULL, *kernel = NULL;
    device_address out = 0, next = 0;
    void *parameters[] = {&out};
    must(load(&module, PRODUCT), "cuModuleLoadData");
    must(find(&kernel, module, "multiply_tiles"), "cuModuleGetFunction");
    must(driver.allocate(&out, 16 * MIB), "cuMemAlloc");
    (void)set_attribute;
    keep(launch(kernel, 64, 1, 1, 256, 1, 1, TILES, NULL, parameters, NULL));
    keep(driver.allocate(&next, 128 * MIB));
    must(last_error, "cuMemAlloc of the next matrix");
    return 0;
}
