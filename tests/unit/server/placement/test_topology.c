/* The topology read from made-up machines: files of /proc and /sys as the kernel writes them. */
#include "server/placement/placement.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct tempdir root;
static struct topology topology;

static void make_folders(const char *path)
{
    char folder[256];
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%s/%.*s", root.path, (int)(slash - path), path);
        mkdir(folder, 0700);
    }
}

static void put(const char *path, const char *text)
{
    char whole[256];
    make_folders(path);
    snprintf(whole, sizeof whole, "%s/%s", root.path, path);
    FILE *file = fopen(whole, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_machine(void)
{
    ck_assert_int_eq(nftw(root.path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void allow(const char *list)
{
    char text[200];
    snprintf(text, sizeof text, "Name:\tattnd\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\n", list);
    put("proc/self/status", text);
}

static void put_cpu(unsigned cpu, const char *name, const char *list)
{
    char path[120];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/%s", cpu, name);
    put(path, list);
}

/* Two nodes of two cores with two threads each, numbered as Linux does: 0-3 are the first threads,
 * 4-7 the second ones. Each node has one cache. */
static void put_machine(void)
{
    tempdir_open(&root);
    put("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
    put("sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        char siblings[20];
        snprintf(siblings, sizeof siblings, "%u,%u\n", cpu % 4, cpu % 4 + 4);
        put_cpu(cpu, "topology/thread_siblings_list", siblings);
        put_cpu(cpu, "cache/index3/shared_cpu_list", cpu % 4 < 2 ? "0-1,4-5\n" : "2-3,6-7\n");
    }
}

/* "cpu core cache node;" of each. */
static void expect(const char *places)
{
    char told[400] = "";
    topology_read(&topology, root.path);
    for (unsigned i = 0; i < topology.count; i++) {
        const struct topology_cpu *cpu = &topology.cpus[i];
        snprintf(told + strlen(told), sizeof told - strlen(told), "%u %u %u %u;", cpu->cpu,
                 cpu->core, cpu->cache, cpu->node);
    }
    ck_assert_str_eq(told, places);
}

START_TEST(topology_lists_processors_by_node_and_first_threads_first)
{
    put_machine();
    allow("0-7");
    expect("0 0 0 0;1 1 0 0;4 0 0 0;5 1 0 0;2 2 2 1;3 3 2 1;6 2 2 1;7 3 2 1;");
    ck_assert_uint_eq(topology_cores(&topology), 4);
    remove_machine();
}
END_TEST

START_TEST(a_core_and_a_cache_are_called_by_the_first_that_is_allowed)
{
    put_machine();
    allow("3,5-7");
    expect("5 5 5 0;3 3 3 1;6 6 3 1;7 3 3 1;");
    ck_assert_uint_eq(topology_cores(&topology), 3);
    remove_machine();
}
END_TEST

START_TEST(topology_without_files_is_one_cache_and_one_node)
{
    tempdir_open(&root);
    allow("1,3");
    expect("1 1 0 0;3 3 0 0;");
    remove_machine();
}
END_TEST

START_TEST(topology_ignores_broken_lists)
{
    static const char *const lists[] = {"", "\n", "x", "-3", "9-2", "7", "99999999999999999999-5"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        tempdir_open(&root);
        allow("0-1");
        put_cpu(1, "topology/thread_siblings_list", lists[i]);
        put_cpu(1, "cache/index3/shared_cpu_list", lists[i]);
        put("sys/devices/system/node/node3/cpulist", lists[i]);
        expect("0 0 0 0;1 1 0 0;");
        remove_machine();
    }
}
END_TEST

START_TEST(topology_without_allowed_processors_is_empty)
{
    static const char *const lists[] = {"", "none", "2048-4000"};
    tempdir_open(&root);
    expect("");
    remove_machine();
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        tempdir_open(&root);
        allow(lists[i]);
        expect("");
        remove_machine();
    }
}
END_TEST

START_TEST(the_machine_that_runs_this_has_processors)
{
    topology_read(&topology, "");
    ck_assert_uint_ge(topology.count, 1);
    ck_assert_uint_ge(topology_cores(&topology), 1);
}
END_TEST

SUITE("topology", topology_lists_processors_by_node_and_first_threads_first,
      a_core_and_a_cache_are_called_by_the_first_that_is_allowed,
      topology_without_files_is_one_cache_and_one_node, topology_ignores_broken_lists,
      topology_without_allowed_processors_is_empty, the_machine_that_runs_this_has_processors)
