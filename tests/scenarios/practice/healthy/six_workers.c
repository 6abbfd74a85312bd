/* Six workers at a time, each with a context of its own and little memory: the contexts take more than
 * the data, on a device that has room for all of it. */
#include "driver.h"

#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 6, STEPS = 100 };

static int work(void) {
    struct driver driver = usual_driver();
    start(&driver);
    for (int step = 0; step < STEPS; step++) {
        device_address scratch = 0;
        must(driver.allocate(&scratch, 40 * MIB), "cuMemAlloc");
        usleep(2000);
        must(driver.release(scratch), "cuMemFree");
    }
    return 0;
}

int main(void) {
    int status = 0;
    for (int worker = 0; worker < WORKERS; worker++) {
        pid_t child = fork();
        if (child == 0) exit(work());
        if (child < 0) stop("no worker");
    }
    while (wait(&status) > 0) {
        if (status) stop("a worker failed");
    }
    return 0;
}
