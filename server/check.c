#include "server/server.h"

#include "config/config_load.h"
#include "engine/base/file.h"
#include "engine/base/versions.h"
#include "engine/engine.h"
#include "engine/index/index.h"
#include "engine/selftest.h"
#include "server/addresses.h"
#include "server/audit/audit_service.h"
#include "server/auth/keys.h"
#include "server/bounds/memory.h"
#include "server/fits/fits_left.h"
#include "server/http/http.h"
#include "server/http/tls.h"
#include "server/memory_plan.h"
#include "server/otlp/otlp_exporter.h"
#include "server/placement/placement.h"
#include "server/restore.h"

static enum err_code check_state(const struct config *config, struct err *err)
{
    if (config->state_dir[0] == '\0')
        return ERR_OK;
    if (file_check_lock_dir(config->state_dir, RESTORE_LOCK, err)) {
        err->code = err->code == ERR_IO ? ERR_UNUSABLE : err->code;
        return err_prefix(err, "state_dir: ");
    }
    return fits_left_check(config->state_dir, err);
}

/* Everything that the start opens, but the numbers of the weights: a check beside a running server
 * takes no memory for them. What a self-test says is read, and not run. */
static enum err_code check_each(const struct config *config, struct err *err)
{
    for (unsigned i = 0; i < config->model_count; i++) {
        const struct config_model *model = &config->models[i];
        const struct engine_options options = {.linear_backend = config->linear_backend,
                                               .dtype = model->dtype};
        struct selftest *selftest;
        if (engine_check(model->dir, &options, err) || selftest_open(&selftest, model->dir, err))
            return err_prefix(err, "model %s: ", model->name);
        selftest_close(selftest);
    }
    return ERR_OK;
}

/* Indexes take memory beside the models. That one is of its model is known only with both open. */
static enum err_code check_indexes(const struct config *config, const struct memory_plan *memory,
                                   struct err *err)
{
    const size_t others = memory_sum(memory->fixed_bytes, MEMORY_REQUESTS_MIN);
    size_t indexes = 0;
    for (unsigned i = 0; i < config->model_count; i++) {
        const struct config_model *model = &config->models[i];
        struct index_info info;
        if (model->index != NULL && index_measure(&info, model->index, err))
            return err_prefix(err, "model %s: index ", model->name);
        indexes = memory_sum(indexes, model->index != NULL ? info.bytes : 0);
    }
    if (indexes > 0 && memory_sum(others, indexes) > memory->max_bytes)
        return err_set(err, ERR_UNUSABLE,
                       "with the indexes of past inputs %zu bytes are needed, the limit is %zu "
                       "(%s)",
                       memory_sum(others, indexes), memory->max_bytes, memory->source);
    return ERR_OK;
}

static enum err_code check_models(const struct config *config, const struct plan *plan,
                                  struct memory_plan *memory, struct err *err)
{
    struct config effective;
    if (restore_config(&effective, config, true, err))
        return err->code;
    if (server_memory_plan(memory, &effective, plan, err) == ERR_OK &&
        (check_each(&effective, err) || check_indexes(&effective, memory, err)) &&
        err->code != ERR_NO_MEMORY)
        err->code = ERR_UNUSABLE;
    restore_blame(&effective, config, err);
    config_deinit(&effective);
    return err->code;
}

enum err_code server_check(const struct config *config, FILE *out, struct err *err)
{
    struct memory_plan memory;
    struct placement placement;
    struct plan plan;
    if (versions_check(err) || http_check_library(err))
        return err->code;
    struct keys *keys;
    struct tls *tls;
    if (keys_read(&keys, config->keys_file, NULL, err))
        return err->code;
    keys_close(keys);
    if (tls_open(&tls, config->tls_cert_file, config->tls_key_file, config->tls_client_ca_file,
                 err))
        return err->code;
    tls_close(tls);
    if (audit_service_check(config, err) || check_state(config, err))
        return err->code;
    if (addresses_check(config, err) || otlp_exporter_check(config->otlp_endpoint, err) ||
        placement_make(&placement, &plan, config, err))
        return err->code;
    placement_free(&placement);
    if (check_models(config, &plan, &memory, err))
        return err->code;
    fputs("attnd: the configuration is valid\n", out);
    memory_plan_print(&memory, out);
    return ERR_OK;
}
