/* Compute threads with a processor of their own, in the real server: seen in /proc, where each has
 * one processor in its list, and in answers, which stay what they are. */
#include "engine/base/cpu.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 2 };

static struct server_process server;

static unsigned workers(void)
{
    const unsigned quota = cpu_quota_threads("");
    return quota < WORKERS_MAX ? quota : WORKERS_MAX;
}

static void open_server(const char *placement)
{
    char count[16];
    snprintf(count, sizeof count, "%u", workers());
    server_process_start(&server, (const char *[]){"--model", "wafers=tests/data/golden/vit-0",
                                                   "--placement", placement, "--workers", count,
                                                   "--threads-per-worker", "1", NULL});
}

/* The processor that a thread is bound to; -1: it may use several. */
static int bound_to(const char *task)
{
    char path[PATH_MAX], line[256];
    int cpu = -1;
    snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)server.pid, task);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *end;
        if (strncmp(line, "Cpus_allowed_list:", 18) != 0)
            continue;
        cpu = (int)strtol(line + 18, &end, 10);
        cpu = *end == '\n' ? cpu : -1;
    }
    if (file != NULL)
        fclose(file);
    return cpu;
}

/* Threads that are bound; *twice: two of them to one processor. */
static unsigned bound_threads(bool *twice)
{
    char path[64];
    bool is_taken[1024] = {false};
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)server.pid);
    DIR *tasks = opendir(path);
    ck_assert_ptr_nonnull(tasks);
    *twice = false;
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        const int cpu = task->d_name[0] != '.' ? bound_to(task->d_name) : -1;
        if (cpu < 0 || cpu >= 1024)
            continue;
        *twice = *twice || is_taken[cpu];
        is_taken[cpu] = true;
        count++;
    }
    closedir(tasks);
    return count;
}

static double score(void)
{
    char *image = contract_file_base64("tests/data/golden/images/1_scratch.png");
    char *call = contract_format("{\"image\": \"%s\"}", image);
    struct reply reply = reply_of(http_post_json(server.port, "/predict", call));
    reply_expect_status(&reply, 200);
    const double value = reply_number(&reply, "score");
    reply_free(&reply);
    free(call);
    free(image);
    return value;
}

START_TEST(each_compute_thread_has_a_processor_and_answers_are_the_same)
{
    bool twice;
    if (cpu_quota_threads("") < 2)
        return; /* of one processor every thread is bound to it */
    open_server("off");
    ck_assert_uint_eq(bound_threads(&twice), 0);
    const double free_score = score();
    ck_assert_int_eq(server_process_stop(&server), 0);
    open_server("on");
    const double bound_score = score();
    ck_assert_uint_eq(bound_threads(&twice), workers());
    ck_assert(!twice);
    ck_assert_double_eq_tol(bound_score, free_score, 1e-6);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

START_TEST(more_threads_than_processors_are_refused_before_anything_is_opened)
{
    struct outcome *outcome =
        outcome_of("attnd", (const char *[]){"--model", "wafers=tests/data/golden/vit-0",
                                             "--placement", "on", "--workers", "1024",
                                             "--threads-per-worker", "2", "--check-config", NULL});
    outcome_expect(outcome, 2, "",
                   "placement: 1024 workers of 2 threads cannot each have a processor");
}
END_TEST

SUITE("contract_placement", each_compute_thread_has_a_processor_and_answers_are_the_same,
      more_threads_than_processors_are_refused_before_anything_is_opened)
