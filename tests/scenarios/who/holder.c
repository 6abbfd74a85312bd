/* A process that holds memory of simulated devices, in the shape that a test asks for.
 *
 *     holder DEVICE=MIB... [--title NAME] [--orphan] [--zombie-leader] [--user UID] [--crowd N]
 *
 * It prints its number once it holds what it should and is what it should be, and ends when its
 * input does: whoever started it need not find it again, also where it has changed its parent or
 * its name. --crowd starts N processes, the Nth with a context on the Nth device and no more.
 *
 * The driver's documented functions are found at run time, so that no vendor's header is needed. */

#define _GNU_SOURCE
#include <signal.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_DEVICES 16

struct wish {
    long mebibytes[MOST_DEVICES]; /* -1 where the device is left alone */
    const char *title;
    int orphan, zombie_leader, crowd;
    long user; /* -1 for the one who runs it */
};

static void stop(const char *what) {
    fprintf(stderr, "holder: %s\n", what);
    exit(1);
}

static void *driver_function(const char *name) {
    static void *driver;
    if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = driver ? dlsym(driver, name) : NULL;
    if (!found) stop(dlerror());
    return found;
}

static void expect_success(int code, const char *what) {
    if (code != 0) {
        fprintf(stderr, "holder: %s answered %d\n", what, code);
        exit(1);
    }
}

/* A context on the device and so much memory beside it. */
static void take(int device, long mebibytes) {
    int (*init)(unsigned) = driver_function("cuInit");
    int (*retain)(void **, int) = driver_function("cuDevicePrimaryCtxRetain");
    int (*set_current)(void *) = driver_function("cuCtxSetCurrent");
    int (*allocate)(unsigned long long *, size_t) = driver_function("cuMemAlloc_v2");
    void *context = NULL;
    unsigned long long address = 0;
    expect_success(init(0), "cuInit");
    expect_success(retain(&context, device), "cuDevicePrimaryCtxRetain");
    expect_success(set_current(context), "cuCtxSetCurrent");
    if (mebibytes > 0) expect_success(allocate(&address, (size_t)mebibytes << 20), "cuMemAlloc");
}

static void take_all(const struct wish *wish) {
    for (int device = 0; device < MOST_DEVICES; device++)
        if (wish->mebibytes[device] >= 0) take(device, wish->mebibytes[device]);
}

/* As programs do that show what they are instead of how they were started. */
static void rename_to(const char *title, int count, char **words) {
    char *name = strdup(title);
    char *end = words[count - 1] + strlen(words[count - 1]);
    size_t room = (size_t)(end - words[0]);
    prctl(PR_SET_NAME, name);
    memset(words[0], 0, room);
    strncpy(words[0], name, room);
}

static void wait_for_end_of_input(void) {
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {}
}

static void report_and_wait(void) {
    printf("%d\n", (int)getpid());
    fflush(stdout);
    wait_for_end_of_input();
    _exit(0);
}

/* The state of the first thread, which /proc/PID/stat shows after the name. */
static char leader_state(void) {
    char line[512] = "";
    FILE *file = fopen("/proc/self/stat", "r");
    if (file) {
        if (!fgets(line, sizeof line, file)) line[0] = 0;
        fclose(file);
    }
    char *bracket = strrchr(line, ')');
    return bracket ? bracket[2] : '?';
}

static void *outlive_leader(void *nothing) {
    while (leader_state() != 'Z') usleep(1000);
    report_and_wait();
    return nothing;
}

static void leave_leader_behind(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, outlive_leader, NULL) != 0) stop("no thread");
    /* Ends this thread alone, unlike exit(). */
    syscall(SYS_exit, 0);
}

static pid_t fork_or_stop(void) {
    pid_t child = fork();
    if (child < 0) stop("no child");
    return child;
}

/* Goes on in a child whose parent, the first process of its session, has ended. */
static void lose_parent(void) {
    if (fork_or_stop() > 0) _exit(0);
    if (setsid() < 0) stop("no session");
    pid_t parent = getpid();
    if (fork_or_stop() > 0) _exit(0);
    while (getppid() == parent) usleep(1000);
}

static void become(long user) {
    if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0)
        stop("cannot become another user");
}

static void start_crowd(int size, int devices) {
    for (int number = 0; number < size; number++) {
        if (fork_or_stop() == 0) {
            take(number % devices, 0);
            report_and_wait();
        }
    }
    wait_for_end_of_input();
    while (wait(NULL) > 0) {}
    exit(0);
}

static struct wish parse(int count, char **words, int *devices) {
    struct wish wish = {.user = -1};
    for (int device = 0; device < MOST_DEVICES; device++) wish.mebibytes[device] = -1;
    for (int index = 1; index < count; index++) {
        const char *word = words[index], *next = index + 1 < count ? words[index + 1] : "";
        int device = 0;
        long mebibytes = 0;
        if (sscanf(word, "%d=%ld", &device, &mebibytes) == 2) {
            if (device < 0 || device >= MOST_DEVICES) stop("no such device");
            wish.mebibytes[device] = mebibytes;
            *devices = device + 1 > *devices ? device + 1 : *devices;
        } else if (strcmp(word, "--orphan") == 0) wish.orphan = 1;
        else if (strcmp(word, "--zombie-leader") == 0) wish.zombie_leader = 1;
        else if (strcmp(word, "--title") == 0) wish.title = next, index++;
        else if (strcmp(word, "--user") == 0) wish.user = atol(next), index++;
        else if (strcmp(word, "--crowd") == 0) wish.crowd = atoi(next), index++;
        else stop(word);
    }
    return wish;
}

int main(int count, char **words) {
    /* However the test was started: what nohup starts is told apart from an orphan. */
    signal(SIGHUP, SIG_DFL);
    int devices = 0;
    struct wish wish = parse(count, words, &devices);
    if (devices == 0) stop("which devices?");
    if (wish.crowd > 0) start_crowd(wish.crowd, devices);
    if (wish.orphan) lose_parent();
    take_all(&wish);
    if (wish.title) rename_to(wish.title, count, words);
    if (wish.user >= 0) become(wish.user);
    if (wish.zombie_leader) leave_leader_behind();
    report_and_wait();
    return 0;
}
