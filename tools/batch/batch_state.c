#include "tools/batch/batch_state.h"

#include "engine/base/doc.h"
#include "engine/base/doc_edit.h"
#include "engine/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, STATE_BYTES_MAX = 4 * 1024 * 1024 };

static const long long count_max = 1LL << 53; /* a double holds all below */

void batch_state_free(struct batch_state *state)
{
#define X(key, name) free(state->key);
    BATCH_STATE_PARTS(X)
#undef X
    *state = (struct batch_state){0};
}

static enum err_code copy_text(const struct json_t *root, const char *key, char **out,
                               struct err *err)
{
    const char *text = "";
    if (doc_get_string(root, "$", key, &text, err))
        return err->code;
    *out = strdup(text);
    return *out != NULL ? ERR_OK : err_no_memory(err, strlen(text));
}

static enum err_code copy_count(const struct json_t *root, const char *key, uint64_t *out,
                                struct err *err)
{
    long long count = 0;
    if (doc_get_integer(root, "$", key, 0, count_max, &count, err) == ERR_OK)
        *out = (uint64_t)count;
    return err->code;
}

static enum err_code read_members(struct batch_state *out, const struct json_t *root,
                                  struct err *err)
{
    long long version = 0;
    const char *digest = "";
    if (doc_get_integer(root, "$", "attnd_batch", 0, count_max, &version, err))
        return err->code;
    if (version != VERSION)
        return err_set(err, ERR_UNUSABLE,
                       "it is of version %lld of such files, this program reads %d", version,
                       VERSION);
#define X(key, name) copy_text(root, #key, &out->key, err);
    BATCH_STATE_PARTS(X)
#undef X
    copy_count(root, "done", &out->done, err);
    copy_count(root, "failed", &out->failed, err);
    copy_count(root, "bytes", &out->bytes, err);
    if (doc_get_string(root, "$", "digest", &digest, err) == ERR_OK)
        snprintf(out->digest, sizeof out->digest, "%s", digest);
    return err->code;
}

enum err_code batch_state_read(struct batch_state *out, const char *path, bool *found,
                               struct err *err)
{
    struct json_t *root;
    struct err cause = {0};
    *out = (struct batch_state){0};
    if (file_exists(path, found, err) || !*found)
        return err->code;
    if (doc_parse_file(&root, path, STATE_BYTES_MAX, &cause) == ERR_OK) {
        read_members(out, root, &cause);
        doc_free(root);
    }
    if (cause.code == ERR_OK)
        return ERR_OK;
    bool is_system = err_is_of_system(cause.code);
    return err_set(err, is_system ? cause.code : ERR_UNUSABLE, "%s: %s", path, cause.text);
}

static enum err_code check_part(const char *name, const char *was, const char *is, const char *out,
                                struct err *err)
{
    was = was != NULL ? was : "";
    is = is != NULL ? is : "";
    if (strcmp(was, is) == 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "%.100s: it was begun with another command: %s was '%.80s', now '%.80s'; give "
                   "the same command, another --out, or remove it and its .state file",
                   out, name, was, is);
}

enum err_code batch_state_check(const struct batch_state *state, const struct batch_state *wanted,
                                const char *out, struct err *err)
{
#define X(key, name)                                                                               \
    if (check_part(name, state->key, wanted->key, out, err))                                       \
        return err->code;
    BATCH_STATE_PARTS(X)
#undef X
    return ERR_OK;
}

enum err_code batch_state_write(const struct batch_state *state, const char *path, struct err *err)
{
    struct json_t *root;
    if (doc_edit_new(&root, err))
        return err->code;
    doc_edit_integer(root, "attnd_batch", VERSION, err);
#define X(key, name) doc_edit_text(root, #key, state->key != NULL ? state->key : "", err);
    BATCH_STATE_PARTS(X)
#undef X
    doc_edit_integer(root, "done", (long long)state->done, err);
    doc_edit_integer(root, "failed", (long long)state->failed, err);
    doc_edit_integer(root, "bytes", (long long)state->bytes, err);
    doc_edit_text(root, "digest", state->digest, err);
    if (err->code == ERR_OK)
        doc_edit_save(root, path, err);
    doc_free(root);
    return err->code;
}
