/* ranks COUNT: a launch of so many ranks, one a device; each rank but the first initializes CUDA before
 * it chooses its device. True: each has a context on device 0 that it does not use, and rank 0 lacks it. */
#include "driver.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PART (700 * MIB)

static struct driver driver;

static void use_device(int device) {
    void *context = NULL;
    must(driver.retain(&context, device), "cuDevicePrimaryCtxRetain");
    must(driver.set_current(context), "cuCtxSetCurrent");
}

static size_t free_bytes(void) {
    int (*get_info)(size_t *, size_t *) = by_dlsym("cuMemGetInfo_v2");
    size_t free = 0, total = 0;
    must(get_info(&free, &total), "cuMemGetInfo");
    return free;
}

static int work(int rank) {
    device_address part = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start(&driver);
    use_device(rank);
    must(driver.allocate(&part, PART), "cuMemAlloc");
    if (write(STDOUT_FILENO, "r", 1) != 1) return 1;
    pause();
    return 0;
}

static void launch(int rank) {
    char number[16], byte;
    int ready[2];
    snprintf(number, sizeof number, "%d", rank);
    if (pipe(ready)) stop("no pipe");
    if (fork() == 0) {
        dup2(ready[1], STDOUT_FILENO);
        execl("/proc/self/exe", "ranks", "--rank", number, (char *)NULL);
        _exit(127);
    }
    if (read(ready[0], &byte, 1) != 1) stop("a rank has gone");
}

int main(int count, char **words) {
    driver = usual_driver();
    must(driver.init(0), "cuInit");
    if (count > 2 && strcmp(words[1], "--rank") == 0) return work(atoi(words[2]));
    int ranks = count > 1 ? atoi(words[1]) : 3;
    use_device(0);
    size_t before = free_bytes();
    for (int rank = 1; rank < ranks; rank++) launch(rank);
    printf("{\"bytes\": %zu}\n", before - free_bytes());
    fflush(stdout);
    device_address part = 0;
    must(driver.allocate(&part, PART), "cuMemAlloc");
    return 0;
}
