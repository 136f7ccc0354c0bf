#include "engine/base/blas_core.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(blas_core_is_repaired_where_the_processor_has_more)
{
    ck_assert(blas_core_needs_repair("Prescott", CPU_AVX512_VNNI, NULL, NULL));
    ck_assert(blas_core_needs_repair("Prescott", CPU_AVX2, NULL, NULL));
    ck_assert(blas_core_needs_repair("Nehalem", CPU_AVX2, NULL, NULL));
    ck_assert(blas_core_needs_repair("Sandybridge", CPU_AVX2, NULL, NULL));
    ck_assert(blas_core_needs_repair("Haswell", CPU_AVX512, NULL, NULL));
    ck_assert(blas_core_needs_repair("Zen", CPU_AVX512_VNNI, NULL, NULL));
}
END_TEST

START_TEST(blas_core_is_left_alone_where_it_fits)
{
    ck_assert(!blas_core_needs_repair("Prescott", CPU_SSE2, NULL, NULL));
    ck_assert(!blas_core_needs_repair("Haswell", CPU_AVX2, NULL, NULL));
    ck_assert(!blas_core_needs_repair("Zen", CPU_AVX2, NULL, NULL));
    ck_assert(!blas_core_needs_repair("SkylakeX", CPU_AVX512_VNNI, NULL, NULL));
    ck_assert(!blas_core_needs_repair("Cooperlake", CPU_AVX512_VNNI, NULL, NULL));
    ck_assert(!blas_core_needs_repair("a later name", CPU_AVX512_VNNI, NULL, NULL));
}
END_TEST

START_TEST(blas_core_respects_an_operators_choice)
{
    ck_assert(!blas_core_needs_repair("Prescott", CPU_AVX512, "Prescott", NULL));
    ck_assert(!blas_core_needs_repair("Haswell", CPU_AVX512, "", NULL));
}
END_TEST

START_TEST(blas_core_is_repaired_only_once)
{
    ck_assert(!blas_core_needs_repair("Prescott", CPU_AVX512, NULL, "1"));
}
END_TEST

static char name_given[] = "test_renamed";
static char word_given[] = "word";

static bool is_set(const char *name, const char *value)
{
    const char *set = getenv(name);
    return set != NULL && strcmp(set, value) == 0;
}

/* In the re-executed program: exits 0 if it stands as it should. */
static int judge_repaired(int argc, char *const *argv)
{
    char before[16] = "", after[16] = "";
    prctl(PR_SET_NAME, "exe");
    prctl(PR_GET_NAME, before);
    blas_core_repair(argv);
    prctl(PR_GET_NAME, after);
    bool arguments = argc == 2 && strcmp(argv[0], name_given) == 0 && strcmp(argv[1], "word") == 0;
    bool named = strcmp(before, "exe") == 0 && strcmp(after, name_given) == 0;
    bool repaired = !blas_core_needs_repair(blas_core_name(), cpu_level(), NULL, NULL);
    bool settings = is_set("OPENBLAS_CORETYPE", "auto") && is_set("OPENBLAS_NUM_THREADS", "1") &&
                    is_set("OMP_WAIT_POLICY", getenv("TEST_POLICY")) &&
                    is_set("GOMP_SPINCOUNT", "0") && is_set("OMP_NUM_THREADS", "1");
    return !arguments ? 10 : !named ? 11 : !repaired ? 12 : !settings ? 13 : 0;
}

/* The weakest kernels, chosen for the library when it was loaded: as if it had chosen them itself.
 * A processor that has no more keeps them, and nothing is executed again. */
static int repair_from_weakest(char *const *argv)
{
    unsetenv("TEST_FIRST");
    unsetenv("OPENBLAS_CORETYPE");
    blas_core_repair(argv);
    return blas_core_needs_repair(blas_core_name(), cpu_level(), NULL, NULL) ? 2 : 0;
}

static void expect_repair(const char *policy_before, const char *policy_after)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char *argv[] = {name_given, word_given, NULL};
        unsetenv("GOMP_SPINCOUNT");
        unsetenv("OPENBLAS_NUM_THREADS");
        unsetenv("OMP_NUM_THREADS");
        unsetenv("OMP_WAIT_POLICY");
        if (policy_before != NULL)
            setenv("OMP_WAIT_POLICY", policy_before, 1);
        setenv("OPENBLAS_CORETYPE", "Prescott", 1);
        setenv("TEST_POLICY", policy_after, 1);
        setenv("TEST_FIRST", "1", 1);
        execv("/proc/self/exe", argv);
        _exit(3);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "status %d", WEXITSTATUS(status));
}

START_TEST(blas_core_repair_executes_the_program_again_with_its_arguments)
{
    expect_repair("active", "active"); /* an operator's setting stays */
    expect_repair(NULL, "passive");
}
END_TEST

int main(int argc, char **argv)
{
    if (getenv("TEST_FIRST") != NULL)
        return repair_from_weakest(argv);
    if (getenv("ATTND_REEXEC") != NULL)
        return judge_repaired(argc, argv);
    const TTest *const tests[] = {
        blas_core_is_repaired_where_the_processor_has_more, blas_core_is_left_alone_where_it_fits,
        blas_core_respects_an_operators_choice, blas_core_is_repaired_only_once,
        blas_core_repair_executes_the_program_again_with_its_arguments};
    return suite_run("blas_core", tests, (int)(sizeof tests / sizeof tests[0]));
}
