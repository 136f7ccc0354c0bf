/* cpu.c - see cpu.h.
 *
 * A container's quota is found as the kernel's documentation describes it (cgroups(7),
 * Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst):
 *
 *     /proc/self/cgroup      the group's path in each hierarchy: "0::/path" is v2,
 * "4:cpu,cpuacct:/path" v1 /proc/self/mountinfo   where each hierarchy is mounted, and which part
 * of it cpu.max                v2: "quota period", or "max period" cpu.cfs_quota_us,
 * cpu.cfs_period_us    v1: a quota of -1 is none
 *
 * Every group between the process's and the root may set a quota; the smallest binds. On a hybrid
 * system both versions are mounted and the cpu controller lives in one of them: both are looked at,
 * and the files that are not there do not count. Nothing here can fail: a container without a
 * readable /proc simply has the quota of its scheduler mask.
 */
#include "engine/base/cpu.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_MAX = 8192, PROCESSORS_MAX = 1000 * 1000 };

enum cpu_level cpu_level(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return CPU_SSE2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return CPU_AVX2;
    return __builtin_cpu_supports("avx512vnni") ? CPU_AVX512_VNNI : CPU_AVX512;
}

bool cpu_has_bf16(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16");
}

/* clang 14 has no names for these two. It builds for fuzzing only, where they may be absent. */
#ifdef __clang__
bool cpu_has_amx_bf16(void)
{
    return false;
}

bool cpu_has_avx_vnni(void)
{
    return false;
}
#else
bool cpu_has_amx_bf16(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("amx-bf16") && __builtin_cpu_supports("amx-tile");
}

bool cpu_has_avx_vnni(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avxvnni");
}
#endif

const char *cpu_isa(void)
{
    static const char *const names[] = {"sse2", "avx2", "avx512", "avx512-vnni"};
    return names[cpu_level()];
}

size_t cpu_cache_bytes(unsigned level)
{
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    long bytes = level >= 1 && level <= 3 ? sysconf(names[level - 1]) : 0;
    return bytes > 0 ? (size_t)bytes : 0;
}

/* Paths of this process's groups, "/" if unknown. */
struct groups {
    char unified[PATH_MAX]; /* v2 */
    char cpu[PATH_MAX];     /* v1, the hierarchy of the cpu controller */
};

/* One line of mountinfo that is a cgroup hierarchy. */
struct mount {
    const char *root; /* the group that is seen at the mount point */
    const char *point;
    bool is_unified;
};

/* 0 stands for none. */
static unsigned smaller_limit(unsigned a, unsigned b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

static unsigned processors(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    long long count = quota / period + (quota % period != 0);
    return count < PROCESSORS_MAX ? (unsigned)count : PROCESSORS_MAX;
}

static FILE *open_below(const char *root, const char *dir, const char *name)
{
    char path[2 * PATH_MAX];
    int len = snprintf(path, sizeof path, "%s%s/%s", root, dir, name);
    return len > 0 && (size_t)len < sizeof path ? fopen(path, "re") : NULL;
}

/* Reads up to two numbers; "max" and everything else that is no number ends the reading. */
static int read_numbers(const char *root, const char *dir, const char *name, long long out[2])
{
    char line[128];
    int count = 0;
    FILE *file = open_below(root, dir, name);
    if (file == NULL)
        return 0;
    const char *at = fgets(line, sizeof line, file);
    fclose(file);
    while (at != NULL && count < 2) {
        char *end;
        errno = 0;
        out[count] = strtoll(at, &end, 10);
        if (end == at || errno != 0 || (*end != '\0' && !isspace((unsigned char)*end)))
            break;
        at = end;
        count++;
    }
    return count;
}

static unsigned limit_of_group(const char *root, const char *dir, bool is_unified)
{
    long long max[2], quota[2], period[2];
    if (is_unified)
        return read_numbers(root, dir, "cpu.max", max) == 2 ? processors(max[0], max[1]) : 0;
    if (read_numbers(root, dir, "cpu.cfs_quota_us", quota) < 1 ||
        read_numbers(root, dir, "cpu.cfs_period_us", period) < 1)
        return 0;
    return processors(quota[0], period[0]);
}

/* The part of a group's path below the mount. Without a cgroup namespace the path starts with the
 * mount's root; a group outside what is mounted ("/../x") is judged by the mount point alone. */
static const char *path_below_mount(const char *group, const char *mount_root)
{
    size_t len = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
    if (strncmp(group, mount_root, len) != 0 || (group[len] != '/' && group[len] != '\0'))
        return "";
    if (strstr(group, "/..") != NULL || strcmp(group + len, "/") == 0)
        return "";
    return group + len;
}

static unsigned limit_of_mount(const char *root, const struct groups *groups,
                               const struct mount *mount)
{
    char dir[2 * PATH_MAX];
    unsigned limit = 0;
    const char *group = mount->is_unified ? groups->unified : groups->cpu;
    int len = snprintf(dir, sizeof dir, "%s%s", mount->point, path_below_mount(group, mount->root));
    if (len < 0 || (size_t)len >= sizeof dir)
        return 0;
    size_t top = strlen(mount->point);
    for (;;) {
        limit = smaller_limit(limit, limit_of_group(root, dir, mount->is_unified));
        char *slash = strrchr(dir + top, '/');
        if (slash == NULL)
            return limit;
        *slash = '\0';
    }
}

static bool list_has(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* "hierarchy:controllers:path" */
static void take_group(struct groups *groups, char *line)
{
    char *path = line;
    const char *hierarchy = strsep(&path, ":");
    const char *controllers = strsep(&path, ":");
    if (path == NULL || path[0] != '/' || strlen(path) >= PATH_MAX)
        return;
    if (strcmp(hierarchy, "0") == 0 && controllers[0] == '\0')
        snprintf(groups->unified, sizeof groups->unified, "%s", path);
    else if (list_has(controllers, "cpu"))
        snprintf(groups->cpu, sizeof groups->cpu, "%s", path);
}

/* proc(5): "36 35 98:0 /root /point options [tags] - type source super-options" */
static bool parse_mount(char *line, struct mount *out)
{
    char *tail = strstr(line, " - ");
    if (tail == NULL)
        return false;
    *tail = '\0';
    tail += 3;
    for (int i = 0; i < 3; i++)
        strsep(&line, " ");
    out->root = strsep(&line, " ");
    out->point = strsep(&line, " ");
    const char *type = strsep(&tail, " ");
    strsep(&tail, " ");
    if (out->root == NULL || out->point == NULL || tail == NULL)
        return false;
    out->is_unified = strcmp(type, "cgroup2") == 0;
    return out->is_unified || (strcmp(type, "cgroup") == 0 && list_has(tail, "cpu"));
}

/* The next line without its newline, in a buffer that getline owns. */
static bool next_line(FILE *file, char **line, size_t *size)
{
    if (getline(line, size, file) < 0)
        return false;
    (*line)[strcspn(*line, "\n")] = '\0';
    return true;
}

static void read_groups(const char *root, struct groups *groups)
{
    char *line = NULL;
    size_t size = 0;
    *groups = (struct groups){.unified = "/", .cpu = "/"};
    FILE *file = open_below(root, "/proc/self", "cgroup");
    if (file == NULL)
        return;
    while (next_line(file, &line, &size))
        take_group(groups, line);
    free(line);
    fclose(file);
}

static unsigned limit_of_usual_mounts(const char *root, const struct groups *groups)
{
    static const struct mount usual[] = {{"/", "/sys/fs/cgroup", true},
                                         {"/", "/sys/fs/cgroup/cpu", false},
                                         {"/", "/sys/fs/cgroup/cpu,cpuacct", false}};
    unsigned limit = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        limit = smaller_limit(limit, limit_of_mount(root, groups, &usual[i]));
    return limit;
}

unsigned cpu_quota_limit(const char *root)
{
    struct groups groups;
    struct mount mount;
    char *line = NULL;
    size_t size = 0;
    unsigned limit = 0;
    read_groups(root, &groups);
    FILE *file = open_below(root, "/proc/self", "mountinfo");
    if (file == NULL)
        return limit_of_usual_mounts(root, &groups);
    while (next_line(file, &line, &size))
        if (parse_mount(line, &mount))
            limit = smaller_limit(limit, limit_of_mount(root, &groups, &mount));
    free(line);
    fclose(file);
    return limit;
}

/* Processors in the scheduler's mask; a mask of 8192 covers every kernel that Debian builds. */
static unsigned allowed_processors(void)
{
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    int count = 0;
    if (set != NULL && sched_getaffinity(0, size, set) == 0)
        count = CPU_COUNT_S(size, set);
    if (set != NULL)
        CPU_FREE(set);
    return count > 0 ? (unsigned)count : 1;
}

unsigned cpu_quota_threads(const char *root)
{
    return smaller_limit(allowed_processors(), cpu_quota_limit(root));
}
