/* Lives and ends of processes that use the driver:
 *
 *     lives threads|fork|late-fork|exec|child|close|fault|kill|user|folder|descriptors|vanish
 *
 * Each prints one line of JSON. Blocks are small and many, so that a recording goes on for long
 * after what happened in the middle. */
#include "driver.h"

#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define BLOCKS 40
#define NOBODY 65534
/* Enough for several segments of a recording. */
#define MANY 200000

static struct driver driver;

static void begin(void) {
    driver = usual_driver();
    start(&driver);
}

static int told(const char *life, size_t kept) {
    printf("{\"life\":\"%s\",\"kept\":%zu}\n", life, kept);
    fflush(stdout);
    return 0;
}

static void *one_thread(void *current) {
    must(driver.set_current(current), "cuCtxSetCurrent");
    return (void *)take_some(&driver, BLOCKS);
}

static size_t threads(void) {
    pthread_t started[THREADS];
    size_t sum = 0;
    void *context = NULL;
    must(driver.retain(&context, 0), "cuDevicePrimaryCtxRetain");
    for (int index = 0; index < THREADS; index++) {
        if (pthread_create(&started[index], NULL, one_thread, context)) stop("no thread");
    }
    for (int index = 0; index < THREADS; index++) {
        void *kept = NULL;
        pthread_join(started[index], &kept);
        sum += (size_t)kept;
    }
    return sum;
}

static size_t many(void) {
    for (int index = 0; index < MANY; index++) {
        device_address address = 0;
        must(driver.allocate_async(&address, 4096, NULL), "cuMemAllocAsync");
        must(driver.release_async(address, NULL), "cuMemFreeAsync");
    }
    must(driver.synchronize(), "cuCtxSynchronize");
    return MANY;
}

static int waited(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int life_threads(void) {
    begin();
    return told("threads", threads());
}

/* Both use CUDA; the child after the fork, which CUDA survives only where it was not used before. */
static int life_fork(void) {
    fflush(stdout);
    pid_t child = fork();
    begin();
    size_t kept = take_some(&driver, child ? BLOCKS : BLOCKS / 2);
    if (!child) _exit(kept ? 0 : 1);
    return waited(child) ? 1 : told("fork", kept);
}

/* The child of a process that has used CUDA: it may not, and forks again into one that ends. */
static int life_late_fork(void) {
    begin();
    size_t kept = take_some(&driver, BLOCKS);
    pid_t child = fork();
    if (!child) _exit(fork() ? 0 : 0);
    int ended = waited(child);
    kept += take_some(&driver, BLOCKS);
    return ended ? ended : told("late-fork", kept);
}

static int life_child(void) {
    begin();
    return told("child", take_some(&driver, BLOCKS / 2));
}

static int life_exec(void) {
    begin();
    size_t kept = take_some(&driver, BLOCKS);
    pid_t child = fork();
    if (!child) {
        execl("/proc/self/exe", "lives", "child", (char *)NULL);
        _exit(127);
    }
    int ended = waited(child);
    return ended ? ended : told("exec", kept);
}

static int life_close(void) {
    size_t kept = 0;
    for (int round = 0; round < 3; round++) {
        void *handle = library();
        begin();
        kept += take_some(&driver, BLOCKS);
        for (int reference = 0; reference <= FUNCTIONS; reference++) dlclose(handle);
    }
    return told("close", kept);
}

static int life_fault(void) {
    begin();
    told("fault", take_some(&driver, BLOCKS));
    *(volatile int *)8 = 1;
    return 0;
}

static int life_kill(void) {
    begin();
    told("kill", take_some(&driver, BLOCKS));
    raise(SIGKILL);
    return 0;
}

/* Another user, who may not write where the recording is. */
static int life_user(void) {
    begin();
    size_t kept = take_some(&driver, BLOCKS);
    if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)) stop("not root");
    kept += threads() + many();
    return told("user", kept);
}

static int life_folder(void) {
    begin();
    size_t kept = take_some(&driver, BLOCKS);
    if (chdir("/")) stop("no root folder");
    kept += threads();
    return told("folder", kept);
}

/* No file can be opened any more; more threads and more events would need new files. */
static int life_descriptors(void) {
    begin();
    size_t kept = take_some(&driver, BLOCKS);
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_NOFILE, &none)) stop("no limit");
    kept += threads() + many();
    return told("descriptors", kept);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place) {
    (void)about, (void)kind, (void)place;
    return remove(path);
}

static int life_vanish(void) {
    begin();
    size_t kept = take_some(&driver, BLOCKS);
    const char *recording = getenv("WHYOOM_RECORDING");
    if (recording) nftw(recording, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    kept += threads() + many();
    return told("vanish", kept);
}

/* What fills a small disk: threads, and more events than it has room for. */
static int life_many(void) {
    begin();
    size_t kept = take_some(&driver, BLOCKS) + threads() + many();
    return told("many", kept);
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        int (*live)(void);
    } lives[] = {
        {"threads", life_threads}, {"fork", life_fork},   {"late-fork", life_late_fork},
        {"exec", life_exec},       {"child", life_child}, {"close", life_close},
        {"fault", life_fault},     {"kill", life_kill},   {"user", life_user},
        {"folder", life_folder},   {"many", life_many},   {"descriptors", life_descriptors},
        {"vanish", life_vanish},
    };
    for (size_t index = 0; count > 1 && index < sizeof lives / sizeof lives[0]; index++) {
        if (strcmp(words[1], lives[index].name) == 0) return lives[index].live();
    }
    stop("no such life");
    return 3;
}
