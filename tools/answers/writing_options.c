#include "tools/answers/writing_options.h"

#include "engine/base/file.h"
#include "engine/content/text_file.h"
#include "wire/codec_writing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOWED_BYTES_MAX = 1024 * 1024 };

struct engine_writing *writing_options_give(struct writing_options *options)
{
    if (!options->is_given)
        options->writing = (struct engine_writing){.asked = generation_request_empty};
    options->is_given = true;
    return &options->writing;
}

void writing_options_close(struct writing_options *options)
{
    arena_deinit(&options->arena);
    *options = (struct writing_options){0};
}

static enum err_code add_allowed(struct writing_options *options, const char *text, struct err *err)
{
    struct engine_writing *writing = &options->writing;
    if (options->allowed == NULL)
        options->allowed =
            arena_alloc_array(&options->arena, ENGINE_ALLOWED_MAX, sizeof *options->allowed);
    if (options->allowed == NULL)
        return err_no_memory(err, ENGINE_ALLOWED_MAX * sizeof *options->allowed);
    if (writing->allowed_count == ENGINE_ALLOWED_MAX)
        return err_set(err, ERR_UNUSABLE, "more than %d texts", ENGINE_ALLOWED_MAX);
    options->allowed[writing->allowed_count++] = text;
    writing->allowed = options->allowed;
    return ERR_OK;
}

/* Lines are cut in place. */
static enum err_code add_lines(struct writing_options *options, const char *path, struct err *err)
{
    const unsigned before = options->writing.allowed_count;
    char *bytes = NULL, *rest = NULL;
    size_t len;
    if (file_read_input(&bytes, &len, path, ALLOWED_BYTES_MAX, err) ||
        text_file_decode(&bytes, &len, ALLOWED_BYTES_MAX, err))
        goto out;
    rest = arena_copy(&options->arena, bytes, len);
    if (rest == NULL) {
        err_no_memory(err, len);
        goto out;
    }
    if (strlen(rest) != len)
        err_set(err, ERR_UNUSABLE, "a NUL in it");
    for (char *line; err->code == ERR_OK && (line = strsep(&rest, "\n")) != NULL;) {
        const size_t end = strlen(line);
        if (end > 0 && line[end - 1] == '\r')
            line[end - 1] = '\0';
        if (line[strspn(line, " \t")] != '\0')
            add_allowed(options, line, err);
    }
    if (err->code == ERR_OK && options->writing.allowed_count == before)
        err_set(err, ERR_UNUSABLE, "has no text");
out:
    free(bytes);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", path) : ERR_OK;
}

enum err_code writing_options_set(struct writing_options *options, const char *name,
                                  const char *value, struct err *err)
{
    struct engine_writing *writing = writing_options_give(options);
    char key[32];
    bool is_one;
    if (strcmp(name, "checksum") != 0)
        options->unrecorded = name;
    if (strcmp(name, "allow") == 0)
        return add_allowed(options, value, err);
    if (strcmp(name, "allowed") == 0)
        return add_lines(options, value, err);
    snprintf(key, sizeof key, "%s", name);
    for (char *at = key; (at = strchr(at, '-')) != NULL;)
        *at = '_';
    if (codec_writing_word(writing, key, value != NULL ? value : "true", &is_one, err) || is_one)
        return err->code;
    return err_set(err, ERR_INTERNAL, "no option of a task is called %s", name);
}
