/* A detector looks at frames; one that is too dark is rejected early, before its buffer is freed.
 * True: every third frame leaves its buffer behind, until no frame can be had. */
#include "driver.h"

#define FRAME ((size_t)20 * MIB)

static int is_dark(int number) { return number % 3 == 2; }

static int detect(const struct driver *driver, int number, size_t *left) {
    device_address frame = 0, boxes = 0;
    int code = driver->allocate(&frame, FRAME);
    if (code != 0) return code;
    if (is_dark(number)) {
        *left += FRAME;
        return 0;
    }
    code = driver->allocate(&boxes, 2 * MIB);
    if (code != 0) return code;
    driver->synchronize();
    driver->release(boxes);
    driver->release(frame);
    return 0;
}

int main(void) {
    struct driver driver = usual_driver();
    size_t left = 0;
    start(&driver);
    for (int number = 0; number < 900; number++) {
        int code = detect(&driver, number, &left);
        if (code != 0) {
            fprintf(stderr, "frame %d: cuMemAlloc: error %d\n", number, code);
            return 1;
        }
        printf("{\"bytes\": %zu}\n", left);
        fflush(stdout);
    }
    return 0;
}
