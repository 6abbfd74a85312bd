/* Three sessions are opened and closed one after another, as a test of a small inference library does;
 * closing gives back two of the three buffers. True: the lookup tables stay until the process ends. */
#include "driver.h"

#define WEIGHTS (64 * MIB)
#define WORK (24 * MIB)
#define TABLE (40 * MIB)

struct session {
    device_address weights, work, table;
};

static struct driver driver;

static struct session open_session(void) {
    struct session session = {0};
    must(driver.allocate(&session.weights, WEIGHTS), "cuMemAlloc");
    must(driver.allocate(&session.work, WORK), "cuMemAlloc");
    must(driver.allocate(&session.table, TABLE), "cuMemAlloc");
    return session;
}

static void close_session(struct session *session) {
    must(driver.release(session->work), "cuMemFree");
    must(driver.release(session->weights), "cuMemFree");
}

static size_t free_bytes(void) {
    int (*get_info)(size_t *, size_t *) = by_dlsym("cuMemGetInfo_v2");
    size_t free = 0, total = 0;
    must(get_info(&free, &total), "cuMemGetInfo");
    return free;
}

int main(void) {
    driver = usual_driver();
    start(&driver);
    size_t before = free_bytes();
    struct session warm_up = open_session();
    close_session(&warm_up);
    struct session calibration = open_session();
    close_session(&calibration);
    struct session serving = open_session();
    close_session(&serving);
    size_t lost = before - free_bytes();
    printf("{\"bytes\": %zu}\n", lost);
    if (lost) fprintf(stderr, "test failed: %zu bytes of device memory are missing\n", lost);
    return lost ? 1 : 0;
}
