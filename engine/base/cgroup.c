/* cgroup.c - see cgroup.h.
 *
 * A container's limits are found as the kernel's documentation describes it (cgroups(7),
 * Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/):
 *
 *     /proc/self/cgroup      the group's path in each hierarchy: "0::/path" is v2,
 *                            "4:cpu,cpuacct:/path" v1
 *     /proc/self/mountinfo   where each hierarchy is mounted, and which part of it
 *
 * Every group between the process's and the root may set a limit; the smallest applies. On a hybrid
 * system both versions are mounted and a controller lives in one of them: both are read, and
 * missing files set no limit. */
#include "engine/base/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limit to find, and the paths of this process's groups, "/" if unknown. */
struct search {
    const char *root;
    const char *controller;
    unsigned long long (*limit_of_group)(const struct cgroup *);
    char unified[PATH_MAX];    /* v2 */
    char controlled[PATH_MAX]; /* v1, the hierarchy of the controller */
};

/* One line of mountinfo that is a cgroup hierarchy. */
struct mount {
    const char *root; /* the group that is seen at the mount point */
    const char *point;
    bool is_unified;
};

unsigned long long cgroup_smaller(unsigned long long a, unsigned long long b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

static FILE *open_below(const char *root, const char *dir, const char *name)
{
    char path[2 * PATH_MAX];
    int len = snprintf(path, sizeof path, "%s%s/%s", root, dir, name);
    return len > 0 && (size_t)len < sizeof path ? fopen(path, "re") : NULL;
}

int cgroup_read(const struct cgroup *cgroup, const char *name, long long out[2])
{
    char line[128];
    int count = 0;
    FILE *file = open_below(cgroup->root, cgroup->dir, name);
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

/* Returns the part of a group's path below the mount. Without a cgroup namespace the path starts
 * with the mount's root. For a group outside the mount ("/../x") only the mount point counts. */
static const char *path_below_mount(const char *group, const char *mount_root)
{
    size_t len = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
    if (strncmp(group, mount_root, len) != 0 || (group[len] != '/' && group[len] != '\0'))
        return "";
    if (strstr(group, "/..") != NULL || strcmp(group + len, "/") == 0)
        return "";
    return group + len;
}

static unsigned long long limit_of_mount(const struct search *search, const struct mount *mount)
{
    char dir[2 * PATH_MAX];
    struct cgroup at = {.root = search->root, .dir = dir, .is_unified = mount->is_unified};
    unsigned long long limit = 0;
    const char *group = mount->is_unified ? search->unified : search->controlled;
    int len = snprintf(dir, sizeof dir, "%s%s", mount->point, path_below_mount(group, mount->root));
    if (len < 0 || (size_t)len >= sizeof dir)
        return 0;
    size_t top = strlen(mount->point);
    for (;;) {
        limit = cgroup_smaller(limit, search->limit_of_group(&at));
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

/* proc(5): "36 35 98:0 /root /point options [tags] - type source super-options" */
static bool parse_mount(const struct search *search, char *line, struct mount *out)
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
    return out->is_unified || (strcmp(type, "cgroup") == 0 && list_has(tail, search->controller));
}

/* Reads the next line without its newline, into a buffer that getline owns. */
static bool next_line(FILE *file, char **line, size_t *size)
{
    if (getline(line, size, file) < 0)
        return false;
    (*line)[strcspn(*line, "\n")] = '\0';
    return true;
}

/* Lines are "hierarchy:controllers:path". */
static void read_groups(struct search *search)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = open_below(search->root, "/proc/self", "cgroup");
    if (file == NULL)
        return;
    while (next_line(file, &line, &size)) {
        char *path = line;
        const char *hierarchy = strsep(&path, ":");
        const char *controllers = strsep(&path, ":");
        if (path == NULL || path[0] != '/' || strlen(path) >= PATH_MAX)
            continue;
        if (strcmp(hierarchy, "0") == 0 && controllers[0] == '\0')
            snprintf(search->unified, sizeof search->unified, "%s", path);
        else if (list_has(controllers, search->controller))
            snprintf(search->controlled, sizeof search->controlled, "%s", path);
    }
    free(line);
    fclose(file);
}

/* Returns the limit of the usual mount points, if there is no mountinfo. Version 1 has a joint
 * mount for processors. */
static unsigned long long limit_of_usual_mounts(const struct search *search)
{
    char own[128];
    snprintf(own, sizeof own, "/sys/fs/cgroup/%s", search->controller);
    const struct mount usual[] = {{"/", "/sys/fs/cgroup", true},
                                  {"/", own, false},
                                  {"/", "/sys/fs/cgroup/cpu,cpuacct", false}};
    unsigned long long limit = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        limit = cgroup_smaller(limit, limit_of_mount(search, &usual[i]));
    return limit;
}

unsigned long long cgroup_smallest(const char *root, const char *controller,
                                   unsigned long long (*limit_of_group)(const struct cgroup *))
{
    struct search search = {.root = root,
                            .controller = controller,
                            .limit_of_group = limit_of_group,
                            .unified = "/",
                            .controlled = "/"};
    struct mount mount;
    char *line = NULL;
    size_t size = 0;
    unsigned long long limit = 0;
    read_groups(&search);
    FILE *file = open_below(root, "/proc/self", "mountinfo");
    if (file == NULL)
        return limit_of_usual_mounts(&search);
    while (next_line(file, &line, &size))
        if (parse_mount(&search, line, &mount))
            limit = cgroup_smaller(limit, limit_of_mount(&search, &mount));
    free(line);
    fclose(file);
    return limit;
}
