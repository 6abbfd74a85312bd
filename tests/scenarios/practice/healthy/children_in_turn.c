/* Each part of the work is done by a child of its own, which leaves its memory to the end of the
 * process: after each child the device is as empty as before. The parent never uses CUDA. */
#include "driver.h"

#include <sys/wait.h>
#include <unistd.h>

static int work(void) {
    struct driver driver = usual_driver();
    device_address only = 0;
    start(&driver);
    must(driver.allocate(&only, 1400 * MIB), "cuMemAlloc");
    must(driver.synchronize(), "cuCtxSynchronize");
    return 0;
}

int main(void) {
    for (int part = 0; part < 4; part++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) exit(work());
        if (child < 0 || waitpid(child, &status, 0) != child || status) stop("a part failed");
    }
    return 0;
}
