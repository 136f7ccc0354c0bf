#include "server/audit/audit_service.h"

#include "engine/base/file.h"
#include "server/audit/audit_record.h"
#include "server/observe/log.h"

#include <stdlib.h>
#include <string.h>

/* All bytes of the file but an end of line behind them, which editors leave. */
static enum err_code read_key(const char *path, char **bytes, size_t *len, struct err *err)
{
    if (file_read(bytes, len, path, AUDIT_KEY_BYTES_MAX, err)) {
        err->code = ERR_UNUSABLE;
        return err_prefix(err, "audit_key_file: %s: ", path);
    }
    while (*len > 0 && ((*bytes)[*len - 1] == '\n' || (*bytes)[*len - 1] == '\r'))
        *len -= 1;
    if (*len >= AUDIT_KEY_BYTES_MIN)
        return ERR_OK;
    free(*bytes);
    *bytes = NULL;
    return err_set(err, ERR_UNUSABLE,
                   "audit_key_file: %s: the key has %zu bytes, at least %d are "
                   "needed",
                   path, *len, AUDIT_KEY_BYTES_MIN);
}

static enum audit_sync sync_of(const char *word)
{
    return strcmp(word, "each") == 0   ? AUDIT_EACH
           : strcmp(word, "none") == 0 ? AUDIT_NONE
                                       : AUDIT_GROUP;
}

static void tell_opened(struct audit *audit)
{
    const struct audit_state state = audit_state(audit);
    log_event(LOG_INFO, "audit_opened", LOG_NUMBER("seq", state.seq), LOG_TEXT("head", state.head),
              LOG_NUMBER("cut_bytes", state.cut_bytes));
}

enum err_code audit_service_open(struct audit **out, const struct config *config, struct err *err)
{
    char *key = NULL;
    size_t key_len = 0;
    *out = NULL;
    if (config->audit_dir[0] == '\0')
        return ERR_OK;
    if (config->audit_key_file[0] != '\0' && read_key(config->audit_key_file, &key, &key_len, err))
        return err->code;
    const struct audit_options options = {
        .dir = config->audit_dir,
        .sync = sync_of(config->audit_sync),
        .refuse = strcmp(config->audit_full, "refuse") == 0,
        .rotate_bytes = config->audit_rotate_bytes,
        .keep_days = config->audit_keep_days,
        .key = {key, key_len},
    };
    if (audit_open(out, &options, err) == ERR_OK) {
        tell_opened(*out);
        audit_start(*out);
    } else {
        err->code = err->code == ERR_IO ? ERR_UNUSABLE : err->code;
        err_prefix(err, "audit_dir: ");
    }
    if (key != NULL)
        explicit_bzero(key, key_len);
    free(key);
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

void audit_service_metrics(struct audit *audit, struct metrics_audit *out)
{
    if (audit == NULL)
        return;
    struct audit_state state = audit_state(audit);
    state.head[AUDIT_HEAD_DIGITS] = '\0';
    *out = (struct metrics_audit){.written = state.written,
                                  .lost = state.lost,
                                  .refused = state.refused,
                                  .seq = state.seq,
                                  .head = strtoull(state.head, NULL, 16),
                                  .lag_s = state.lag_s};
}
