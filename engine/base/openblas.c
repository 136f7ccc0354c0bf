/* openblas.c - see openblas.h.
 *
 * OpenBLAS 0.3.21 chooses its kernels by processor model and does not know newer ones: it takes
 * Prescott (SSE3) for an Emerald Rapids and Haswell (AVX2) for a Zen 5. The library's constructor
 * reads a variable that overrides the choice. An unrecognised word such as "auto" makes the library
 * choose by features, which never picks instructions that the processor lacks; a recognised word
 * could.
 *
 * sgemm on one thread of a Zen 5 (AVX-512), GFLOP/s, best of 12, 2026-11:
 *
 *     M x N x K        Prescott   Haswell (its own choice)   auto -> Cooperlake
 *     128x768x768            46            117                     211
 *     128x3072x768           45            113                     202
 *     16x3072x768            39             81                      96
 */
#include "engine/base/openblas.h"

#include "engine/base/versions.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libopenblas.so.0"

static struct {
    pthread_once_t once;
    struct openblas functions;
    struct err err;      /* the error of opening */
    atomic_bool is_open; /* publishes functions.core; partner: openblas_core */
} the = {.once = PTHREAD_ONCE_INIT};

/* The waiting policy is for an OpenBLAS with libgomp, which reads it when it loads: a pool that
 * spins between products takes the cores from the workers. */
void openblas_set_environment(void)
{
    setenv("OPENBLAS_CORETYPE", "auto", 0);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OMP_WAIT_POLICY", "passive", 0);
    setenv("GOMP_SPINCOUNT", "0", 0);
}

/* Finds a function of the library. The address is copied, because C does not convert a pointer to
 * an object into one to a function. */
static bool find(void *handle, const char *name, void *out, size_t size)
{
    void *symbol = dlsym(handle, name);
    memcpy(out, &symbol, size);
    if (symbol == NULL)
        err_set(&the.err, ERR_UNSUPPORTED, LIBRARY " has no %s", name);
    return symbol != NULL;
}

#define FIND(name, function) find(handle, name, &(function), sizeof(function))

static void open_library(void)
{
    struct openblas *out = &the.functions;
    char *(*get_corename)(void) = NULL, *(*get_config)(void) = NULL;
    void (*set_num_threads)(int) = NULL;
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        err_set(&the.err, ERR_UNSUPPORTED,
                "OpenBLAS is not installed (Debian's package libopenblas0): %s", dlerror());
        return;
    }
    if (!FIND("cblas_sgemm", out->sgemm) || !FIND("dsyev_", out->dsyev) ||
        !FIND("dsyevr_", out->dsyevr) || !FIND("dpotrf_", out->dpotrf) ||
        !FIND("openblas_get_corename", get_corename) || !FIND("openblas_get_config", get_config) ||
        !FIND("openblas_set_num_threads", set_num_threads))
        return;
    static const char title[] = "OpenBLAS "; /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
    const char *config = get_config();
    if (versions_judge("OpenBLAS",
                       strncmp(config, title, strlen(title)) == 0 ? config + strlen(title) : NULL,
                       &the.err))
        return;
    set_num_threads(1);
    out->core = get_corename();
    atomic_store_explicit(&the.is_open, true, memory_order_release);
}

enum err_code openblas_open(struct err *err)
{
    pthread_once(&the.once, open_library);
    if (the.err.code == ERR_OK)
        return ERR_OK;
    return err_set(err, the.err.code, "%s", the.err.text);
}

const struct openblas *openblas_functions(void)
{
    return &the.functions;
}

const char *openblas_core(void)
{
    return atomic_load_explicit(&the.is_open, memory_order_acquire) ? the.functions.core : "none";
}
