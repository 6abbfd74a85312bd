/* Pictures of several sizes go up through two buffers in turn; a buffer that is too small for the
 * next picture is replaced by a larger one. True: both grow to the largest picture within the
 * first few, and stay. */
#include "driver.h"

struct buffer {
    device_address at;
    size_t size;
};

static void fit(const struct driver *driver, struct buffer *buffer, size_t wanted) {
    if (buffer->size >= wanted) return;
    if (buffer->at) must(driver->release(buffer->at), "cuMemFree");
    must(driver->allocate(&buffer->at, wanted), "cuMemAlloc");
    buffer->size = wanted;
}

int main(void) {
    static const size_t sizes[] = {12, 48, 24, 96, 36, 192, 60, 320, 20, 320};
    struct driver driver = usual_driver();
    struct buffer buffers[2] = {{0, 0}, {0, 0}};
    start(&driver);
    for (int picture = 0; picture < 400; picture++) {
        fit(&driver, &buffers[picture % 2], sizes[picture * 7 % 10] * MIB);
        driver.synchronize();
    }
    for (int side = 0; side < 2; side++) must(driver.release(buffers[side].at), "cuMemFree");
    puts("400 pictures");
    return 0;
}
