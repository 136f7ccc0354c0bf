/* onednn.h - oneDNN 2.6's C interface, loaded on first use. Part of linear_onednn.c's
 * implementation.
 *
 * It is not linked: loading its 40 MB costs every start 2 ms, and the OpenMP runtime that comes
 * with it reads its settings when it is loaded. Opened late, one thread can be asked for in time.
 * An execution then starts no thread and nothing spins: the members of our pool each run their own.
 *
 * Threads: immutable after open.
 */
#ifndef ATTND_ENGINE_TENSOR_LINEAR_ONEDNN_H
#define ATTND_ENGINE_TENSOR_LINEAR_ONEDNN_H

#include "engine/base/err.h"

/* oneDNN 3 has another C interface. A build without the headers of 2.6 has the backend's name, and
 * a refusal behind it. */
#if __has_include(<oneapi/dnnl/dnnl_version.h>)
#include <oneapi/dnnl/dnnl_version.h>
#define ONEDNN_IS_BUILT (DNNL_VERSION_MAJOR == 2 && DNNL_VERSION_MINOR == 6)
#else
#define ONEDNN_IS_BUILT 0
#endif

#if ONEDNN_IS_BUILT
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#define ONEDNN_FUNCTIONS(X)                                                                        \
    X(engine_create)                                                                               \
    X(engine_destroy)                                                                              \
    X(stream_create)                                                                               \
    X(stream_destroy)                                                                              \
    X(memory_desc_init_by_tag)                                                                     \
    X(memory_desc_get_size)                                                                        \
    X(memory_create)                                                                               \
    X(memory_destroy)                                                                              \
    X(matmul_desc_init)                                                                            \
    X(primitive_attr_create)                                                                       \
    X(primitive_attr_destroy)                                                                      \
    X(primitive_attr_set_scratchpad_mode)                                                          \
    X(primitive_desc_create)                                                                       \
    X(primitive_desc_destroy)                                                                      \
    X(primitive_desc_query)                                                                        \
    X(primitive_desc_query_md)                                                                     \
    X(reorder_primitive_desc_create)                                                               \
    X(primitive_create)                                                                            \
    X(primitive_destroy)                                                                           \
    X(primitive_execute)                                                                           \
    X(status2str)                                                                                  \
    X(version)

/* onednn_library.memory_create is dnnl_memory_create. */
struct onednn_library {
    void *handle;
#define X(name) __typeof__(dnnl_##name) *name;
    ONEDNN_FUNCTIONS(X)
#undef X
};

/* ERR_UNSUPPORTED if the library is not installed, is of another version than it is compiled for
 * (engine/base/versions.h) or would start threads of its own. Sets
 * OMP_NUM_THREADS unless it is 1, which in our programs it is (openblas.h): setenv is not for
 * programs that have started threads. Yours to close, also after an error. */
enum err_code onednn_library_open(struct onednn_library *out, struct err *err);
void onednn_library_close(struct onednn_library *library);
#endif

#endif
