#include "engine/base/blas_core.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
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

/* In the re-executed program: exits 0 if it stands as it should. */
static int judge_repaired(int argc, char *const *argv)
{
    blas_core_repair(argv);
    bool arguments = argc == 2 && strcmp(argv[0], name_given) == 0 && strcmp(argv[1], "word") == 0;
    bool repaired = !blas_core_needs_repair(blas_core_name(), cpu_level(), NULL, NULL);
    bool settings = strcmp(getenv("OPENBLAS_CORETYPE"), "auto") == 0 &&
                    strcmp(getenv("OMP_WAIT_POLICY"), "active") == 0 &&
                    strcmp(getenv("GOMP_SPINCOUNT"), "0") == 0;
    return arguments && repaired && settings ? 0 : 1;
}

/* Where the library chooses right by itself, repair returns and nothing is executed again. */
START_TEST(blas_core_repair_executes_the_program_again_with_its_arguments)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char *argv[] = {name_given, word_given, NULL};
        unsetenv("OPENBLAS_CORETYPE");
        unsetenv("GOMP_SPINCOUNT");
        setenv("OMP_WAIT_POLICY", "active", 1);
        blas_core_repair(argv);
        _exit(blas_core_needs_repair(blas_core_name(), cpu_level(), NULL, NULL) ? 2 : 0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "status %d", status);
}
END_TEST

int main(int argc, char **argv)
{
    if (getenv("ATTND_REEXEC") != NULL)
        return judge_repaired(argc, argv);
    const TTest *const tests[] = {
        blas_core_is_repaired_where_the_processor_has_more, blas_core_is_left_alone_where_it_fits,
        blas_core_respects_an_operators_choice, blas_core_is_repaired_only_once,
        blas_core_repair_executes_the_program_again_with_its_arguments};
    return suite_run("blas_core", tests, (int)(sizeof tests / sizeof tests[0]));
}
