/* Decodes a stream: each frame is unpacked into one buffer and converted into another, of which
 * only the second is given back. True: one buffer a frame stays, until none can be had. */
#include "driver.h"

#define WIDTH 3840
#define HEIGHT 2160

static int decode(const struct driver *driver, int number, size_t *kept) {
    device_address packed = 0, picture = 0;
    size_t packed_size = (size_t)WIDTH * HEIGHT * 3 / 2, picture_size = (size_t)WIDTH * HEIGHT * 3;
    int code = driver->allocate(&packed, packed_size);
    if (code == 0) code = driver->allocate(&picture, picture_size);
    if (code != 0) {
        fprintf(stderr, "frame %d: cuMemAlloc failed with error %d\n", number, code);
        return code;
    }
    driver->synchronize();
    driver->release(picture);
    *kept += packed_size;
    printf("{\"bytes\": %zu}\n", *kept);
    fflush(stdout);
    return 0;
}

int main(void) {
    struct driver driver = usual_driver();
    size_t kept = 0;
    start(&driver);
    for (int number = 0; number < 400; number++) {
        if (decode(&driver, number, &kept) != 0) return 1;
    }
    return 0;
}
