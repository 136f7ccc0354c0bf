#include "server/observe/metrics_process.h"

#include "engine/base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STAT_BYTES = 1024 };

/* A small file of /proc, NUL-terminated; false if it cannot be read. */
static bool read_small(const char *path, char out[STAT_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, out, STAT_BYTES - 1);
    close(fd);
    out[len > 0 ? len : 0] = '\0';
    return len > 0;
}

static double seconds_of(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return -1;
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double read_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return -1;
    double count = -1; /* not the one that is reading */
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* Since Linux 6.2 the directory's size is their number (proc_pid_fd(5)); before, it is 0. Reading
 * the directory takes 10 ms where there are 12 000 connections, so scrapes in quick succession
 * would block an I/O thread: it is read once a second. */
static double count_fds(void)
{
    static struct {
        pthread_mutex_t lock;
        uint64_t until_ns;
        double count;
    } lately = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct stat status;
    if (stat("/proc/self/fd", &status) == 0 && status.st_size > 0)
        return (double)status.st_size;
    pthread_mutex_lock(&lately.lock);
    uint64_t now_ns = clock_now_ns();
    if (now_ns >= lately.until_ns) {
        lately.count = read_fds();
        lately.until_ns = now_ns + CLOCK_NS_PER_S;
    }
    double count = lately.count;
    pthread_mutex_unlock(&lately.lock);
    return count;
}

/* /proc/self/stat: field 22 is the start in clock ticks after boot (proc(5)). Field 2, the name,
 * may hold spaces and parentheses; field 3 follows its last one. */
double metrics_process_start(void)
{
    char text[STAT_BYTES];
    if (!read_small("/proc/self/stat", text))
        return -1;
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return -1;
    double after_boot = (double)strtoull(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
    double boot = seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME);
    return floor((boot + after_boot) * 100) / 100;
}

void metrics_process_read(struct metrics_process *out)
{
    char text[STAT_BYTES], *end;
    const double page = (double)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    out->cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    out->open_fds = count_fds();
    out->max_fds = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (double)limit.rlim_cur : -1;
    out->virtual_bytes = out->resident_bytes = -1;
    if (!read_small("/proc/self/statm", text))
        return;
    /* Size and resident set, in pages (proc(5)). */
    out->virtual_bytes = (double)strtoull(text, &end, 10) * page;
    out->resident_bytes = (double)strtoull(end, NULL, 10) * page;
}
