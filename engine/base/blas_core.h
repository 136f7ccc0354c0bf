/* blas_core.h - chooses OpenBLAS's core type (its kernels) for this processor.
 *
 *     int main(int argc, char **argv)
 *     {
 *         blas_core_repair(argv);
 *         ...
 *
 * First in every main that computes: it may re-execute the program, which must not have started a
 * thread, opened a socket or written anything yet.
 */
#ifndef ATTND_ENGINE_BASE_BLAS_CORE_H
#define ATTND_ENGINE_BASE_BLAS_CORE_H

#include "engine/base/cpu.h"

#include <stdbool.h>

/* Re-executes the program once, with the same arguments, if OpenBLAS chose kernels for a weaker
 * processor than this; then, or if that is impossible, limits OpenBLAS to the calling thread, and
 * the OpenMP runtime that oneDNN may bring in later, which reads OMP_NUM_THREADS then. */
void blas_core_repair(char *const *argv);

/* The kernels in use, such as "Haswell" or "SkylakeX". Static. */
const char *blas_core_name(void);

/* The decision alone: kernels `core` on a processor of `level`. `chosen` is OPENBLAS_CORETYPE, an
 * operator's choice that is respected, and `repaired` is ATTND_REEXEC, our own mark; NULL: unset.
 */
bool blas_core_needs_repair(const char *core, enum cpu_level level, const char *chosen,
                            const char *repaired);

#endif
