/* A service with sessions: one opens, allocates, and closes much later; at any time about fifty are
 * open, each of another size and age. The number that is open wanders, without a trend. */
#include "driver.h"

enum { SLOTS = 100, EVENTS = 4000 };

int main(void) {
    struct driver driver = usual_driver();
    device_address sessions[SLOTS] = {0};
    start(&driver);
    srand(17);
    for (int event = 0; event < EVENTS; event++) {
        device_address *session = &sessions[rand() % SLOTS];
        if (*session) {
            must(driver.release(*session), "cuMemFree");
            *session = 0;
        } else {
            must(driver.allocate(session, (size_t)(1 + rand() % 30) * MIB), "cuMemAlloc");
        }
        must(driver.synchronize(), "cuCtxSynchronize");
    }
    for (int slot = 0; slot < SLOTS; slot++) {
        if (sessions[slot]) must(driver.release(sessions[slot]), "cuMemFree");
    }
    return 0;
}
