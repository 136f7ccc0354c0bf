/* blas_core.c - see blas_core.h.
 *
 * OpenBLAS 0.3.21 chooses its kernels by processor model and does not know those newer than itself:
 * it takes Prescott (SSE3) for an Emerald Rapids and Haswell (AVX2) for a Zen 5. The variable that
 * overrides the choice is read by the library's constructor, before main, so it can only be set for
 * the next execution. An unrecognised word such as "auto" makes the library choose by features
 * instead, which never picks what the processor lacks; a recognised one could.
 *
 * sgemm on one thread of a Zen 5 (AVX-512), GFLOP/s, best of 12, 2026-11:
 *
 *     M x N x K        Prescott   Haswell (its own choice)   auto -> Cooperlake
 *     128x768x768            46            117                     211
 *     128x3072x768           45            113                     202
 *     16x3072x768            39             81                      96
 */
#include "engine/base/blas_core.h"

#include <cblas.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define REPAIRED "ATTND_REEXEC"

const char *blas_core_name(void)
{
    return openblas_get_corename();
}

/* Names of OpenBLAS 0.3.21's driver/others/dynamic.c with the widest instructions of each. */
static enum cpu_level level_of_core(const char *core)
{
    static const char *const sse2[] = {
        "Katmai",       "Coppermine",  "Northwood",  "Prescott", "Banias",      "Atom",
        "Core2",        "Penryn",      "Dunnington", "Nehalem",  "Athlon",      "Opteron",
        "Opteron_SSE3", "Barcelona",   "Bobcat",     "Nano",     "Sandybridge", "Bulldozer",
        "Piledriver",   "Steamroller", "Unknown"};
    static const char *const avx2[] = {"Haswell", "Zen", "Excavator"};
    for (size_t i = 0; i < sizeof sse2 / sizeof *sse2; i++)
        if (strcmp(core, sse2[i]) == 0)
            return CPU_SSE2;
    for (size_t i = 0; i < sizeof avx2 / sizeof *avx2; i++)
        if (strcmp(core, avx2[i]) == 0)
            return CPU_AVX2;
    return CPU_AVX512_VNNI; /* SkylakeX, Cooperlake, and names we do not know: leave them alone */
}

bool blas_core_needs_repair(const char *core, enum cpu_level level, const char *chosen,
                            const char *repaired)
{
    return chosen == NULL && repaired == NULL && level_of_core(core) < level;
}

/* After the repair the kernel calls the process "exe"; give it its name back for ps and logs. */
static void restore_process_name(void)
{
    prctl(PR_SET_NAME, program_invocation_short_name);
}

/* The waiting policy is for an OpenBLAS with libgomp, which reads it when it loads: a pool that
 * spins between products takes the cores from the workers. One OpenBLAS thread: its pool, which the
 * library's constructor would start, is never used. */
static void execute_again(char *const *argv)
{
    if (setenv(REPAIRED, "1", 1) != 0 || setenv("OPENBLAS_CORETYPE", "auto", 1) != 0)
        return;
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    setenv("OMP_WAIT_POLICY", "passive", 0);
    setenv("GOMP_SPINCOUNT", "0", 0);
    execv("/proc/self/exe", argv);
}

void blas_core_repair(char *const *argv)
{
    const char *repaired = getenv(REPAIRED);
    if (repaired != NULL)
        restore_process_name();
    if (blas_core_needs_repair(openblas_get_corename(), cpu_level(), getenv("OPENBLAS_CORETYPE"),
                               repaired))
        execute_again(argv);
    openblas_set_num_threads(1);
    setenv("OMP_NUM_THREADS", "1", 1);
}
