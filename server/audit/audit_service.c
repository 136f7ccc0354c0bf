#include "server/audit/audit_service.h"

#include "server/audit/audit_files.h"
#include "server/audit/audit_record.h"
#include "server/observe/log.h"
#include "server/observe/metrics_text.h"

#include <stdlib.h>
#include <string.h>

static enum audit_sync sync_of(const char *word)
{
    return strcmp(word, "each") == 0   ? AUDIT_EACH
           : strcmp(word, "none") == 0 ? AUDIT_NONE
                                       : AUDIT_GROUP;
}

static enum err_code read_key(struct audit_key *out, const struct config *config, struct err *err)
{
    *out = (struct audit_key){0};
    return config->audit_key_file[0] != '\0' && audit_key_read(out, config->audit_key_file, err)
               ? err_prefix(err, "audit_key_file: ")
               : ERR_OK;
}

static enum err_code blame_dir(struct err *err)
{
    err->code = err->code == ERR_IO ? ERR_UNUSABLE : err->code;
    return err_prefix(err, "audit_dir: ");
}

enum err_code audit_service_check(const struct config *config, struct err *err)
{
    struct audit_key key;
    struct audit_chain chain;
    if (config->audit_dir[0] == '\0' || read_key(&key, config, err))
        return err->code;
    audit_chain_init(&chain, key);
    if (audit_files_check(config->audit_dir, &chain, err))
        blame_dir(err);
    audit_key_forget(&key); /* the chain's is a copy of it */
    return err->code;
}

enum err_code audit_service_open(struct audit **out, const struct config *config, struct err *err)
{
    struct audit_key key;
    *out = NULL;
    if (config->audit_dir[0] == '\0' || read_key(&key, config, err))
        return err->code;
    struct audit_options options = {
        .dir = config->audit_dir,
        .sync = sync_of(config->audit_sync),
        .refuse = strcmp(config->audit_full, "refuse") == 0,
        .rotate_bytes = config->audit_rotate_bytes,
        .keep_days = config->audit_keep_days,
        .key = key,
    };
    if (audit_open(out, &options, err) == ERR_CONFLICT) {
        *err = (struct err){0};
        options.lock_wait_ms = config_end_ms(config);
        log_event(LOG_WARN, "audit_dir_waits", LOG_TEXT("dir", options.dir),
                  LOG_NUMBER("ms", options.lock_wait_ms));
        audit_open(out, &options, err);
    }
    if (err->code == ERR_OK) {
        const struct audit_state state = audit_state(*out);
        log_event(LOG_INFO, "audit_opened", LOG_NUMBER("seq", state.seq),
                  LOG_TEXT("head", state.head), LOG_NUMBER("cut_bytes", state.cut_bytes));
        audit_start(*out);
    } else {
        blame_dir(err);
    }
    audit_key_forget(&key);
    return err->code;
}

/* The head is told, so that it can be kept where nobody who writes the log can change it. */
void audit_service_close(struct audit *audit)
{
    if (audit == NULL)
        return;
    audit_stop(audit);
    const struct audit_state state = audit_state(audit);
    log_event(LOG_INFO, "audit_closed", LOG_NUMBER("seq", state.seq), LOG_TEXT("head", state.head),
              LOG_NUMBER("written", state.written), LOG_NUMBER("lost", state.lost),
              LOG_NUMBER("refused", state.refused));
    audit_close(audit);
}

/* ---- metrics ---- */

static void begin(void *context)
{
    struct audit_scrape *scrape = context;
    if (scrape->audit != NULL)
        scrape->state = audit_state(scrape->audit);
}

/* The first digits of the hash as a number, which a sample can be. */
static double head_number(const struct audit_state *state)
{
    char digits[AUDIT_HEAD_DIGITS + 1] = {0};
    memcpy(digits, state->head, AUDIT_HEAD_DIGITS);
    return (double)strtoull(digits, NULL, 16);
}

static void collect(void *context, enum metric_id id, struct metrics_text *out)
{
    static const char *const results[] = {"written", "lost", "refused"};
    const struct audit_state *state = &((const struct audit_scrape *)context)->state;
    const uint64_t counts[] = {state->written, state->lost, state->refused};
    if (id == METRIC_AUDIT_RECORDS)
        metrics_text_values(out, id, results, counts, 3);
    else
        metrics_text_value(out, id, NULL,
                           id == METRIC_AUDIT_LAG        ? state->lag_s
                           : id == METRIC_AUDIT_SEQUENCE ? (double)state->seq
                                                         : head_number(state));
}

void audit_service_register(struct audit_scrape *scrape, struct metrics *metrics)
{
    static const enum metric_id ids[] = {METRIC_AUDIT_RECORDS, METRIC_AUDIT_LAG,
                                         METRIC_AUDIT_SEQUENCE, METRIC_AUDIT_HEAD};
    metrics_register(
        metrics, ids, sizeof ids / sizeof *ids,
        (struct metrics_collector){.context = scrape, .collect = collect, .begin = begin});
}
