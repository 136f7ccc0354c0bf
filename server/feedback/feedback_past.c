#include "server/feedback/feedback_line.h"

#include "engine/base/file.h"
#include "server/audit/audit_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of one walk through a file. */
struct walk {
    struct feedback_past *past;
    struct arena arena;
    uint64_t number; /* number of the next prediction; only while visiting */
    uint64_t found;  /* predictions */
    bool is_visiting;
};

static enum err_code visit(struct walk *walk, const char *text, size_t len, struct err *err)
{
    struct feedback_past *past = walk->past;
    struct feedback_line line;
    uint64_t number = walk->number;
    bool is_prediction = feedback_line_glance(text, len) == FEEDBACK_LINE_PREDICTION;
    walk->number += is_prediction;
    const bool is_older = is_prediction && (int64_t)number < 1;
    arena_deinit(&walk->arena);
    arena_init(&walk->arena);
    if (feedback_line_read(&line, text, len, &walk->arena, err) || line.kind == FEEDBACK_LINE_OTHER)
        return err->code;
    past->predictions += is_prediction && !is_older;
    past->labels += !is_prediction;
    past->visit(past->context, &line, is_older ? 0 : number);
    return ERR_OK;
}

static enum err_code see(struct walk *walk, const char *text, size_t len, struct err *err)
{
    static const char before[] = "{\"seq\":";
    const struct feedback_past *past = walk->past;
    enum feedback_line_kind kind = feedback_line_glance(text, len);
    uint64_t seq = strncmp(text, before, sizeof before - 1) == 0
                       ? strtoull(text + sizeof before - 1, NULL, 10)
                       : 0;
    if (past->stop != NULL && atomic_load_explicit(past->stop, memory_order_relaxed))
        return err_set(err, ERR_NOT_READY, "the server is stopping");
    if (kind == FEEDBACK_LINE_OTHER || seq == 0 || seq > past->until)
        return ERR_OK;
    walk->found += kind == FEEDBACK_LINE_PREDICTION;
    return walk->is_visiting ? visit(walk, text, len, err) : ERR_OK;
}

/* A part behind the last end of line is still being written. */
static enum err_code walk_file(struct walk *walk, const char *path, struct err *err)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file;
    if (file_open_stream(&file, path, err))
        return err_prefix(err, "%s: ", path);
    for (ssize_t len; err->code == ERR_OK && (len = getline(&line, &size, file)) > 0;)
        if (line[len - 1] == '\n')
            see(walk, line, (size_t)len - 1, err);
    if (err->code == ERR_OK && !feof(file))
        err_set(err, ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    free(line);
    fclose(file);
    return err->code;
}

enum err_code feedback_past_read(struct feedback_past *past, struct err *err)
{
    struct walk walk = {.past = past};
    char **paths;
    size_t all;
    if (audit_files_list(&paths, &all, past->dir, err))
        return err->code;
    arena_init(&walk.arena);
    /* Counts from the newest file back, to find the oldest file that is needed. */
    size_t from = all;
    while (from > 0 && walk.found < past->predictions_max && err->code == ERR_OK)
        walk_file(&walk, paths[--from], err);
    walk.is_visiting = true;
    walk.number = (uint64_t)past->predictions_max - walk.found + 1; /* may be below 1 */
    for (; from < all && err->code == ERR_OK; from++)
        walk_file(&walk, paths[from], err);
    arena_deinit(&walk.arena);
    audit_files_free(paths, all);
    return err->code;
}
