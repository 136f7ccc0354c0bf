#include "engine/tensor/linear/onednn.h"

#if ONEDNN_IS_BUILT

#include "engine/base/versions.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libdnnl.so.2"

static enum err_code ask_for_version(const struct onednn_library *library, struct err *err)
{
    const dnnl_version_t *version = library->version();
    char text[48];
    snprintf(text, sizeof text, "%d.%d.%d", version->major, version->minor, version->patch);
    return versions_judge("oneDNN", text, err);
}

static enum err_code ask_for_one_thread(void *handle, struct err *err)
{
    int (*omp_get_max_threads)(void);
    void *symbol = dlsym(handle, "omp_get_max_threads");
    memcpy(&omp_get_max_threads, &symbol, sizeof symbol);
    if (symbol == NULL || omp_get_max_threads() == 1)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "oneDNN would run %d OpenMP threads for each of ours: something loaded OpenMP "
                   "before; set OMP_NUM_THREADS=1",
                   omp_get_max_threads());
}

enum err_code onednn_library_open(struct onednn_library *out, struct err *err)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define X(name) {"dnnl_" #name, offsetof(struct onednn_library, name)},
        ONEDNN_FUNCTIONS(X)
#undef X
    };
    *out = (struct onednn_library){0};
    const char *threads = getenv("OMP_NUM_THREADS");
    if (threads == NULL || strcmp(threads, "1") != 0)
        setenv("OMP_NUM_THREADS", "1", 1);
    out->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (out->handle == NULL)
        return err_set(err, ERR_UNSUPPORTED, "the linear backend 'onednn' needs oneDNN: %s",
                       dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *symbol = dlsym(out->handle, functions[i].name);
        if (symbol == NULL)
            return err_set(err, ERR_UNSUPPORTED, LIBRARY " has no %s", functions[i].name);
        memcpy((char *)out + functions[i].offset, &symbol, sizeof symbol);
    }
    return ask_for_version(out, err) ? err->code : ask_for_one_thread(out->handle, err);
}

void onednn_library_close(struct onednn_library *library)
{
    if (library->handle != NULL)
        dlclose(library->handle);
    *library = (struct onednn_library){0};
}

#endif
