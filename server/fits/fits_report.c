
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "server/fits/fits_job.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

enum { REPORT_BYTES_MAX = 64 * 1024 * 1024, DIGITS = 6 };

static const char *const sides[] = {"before", "after"};

static void leave_out(json_t *figures, const char *member)
{
    for (int i = 0; i < 2; i++)
        json_object_del(json_object_get(figures, sides[i]), member);
}

static char *dump(const json_t *figures)
{
    return json_dumps(figures, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
}

static char *short_enough(json_t *figures)
{
    leave_out(figures, "model");
    /* Numbers of a file are read as reals. */
    for (int i = 0; i < 2; i++) {
        json_t *side = json_object_get(figures, sides[i]);
        const json_t *inputs = json_object_get(side, "inputs");
        if (json_is_number(inputs))
            json_object_set_new(side, "inputs",
                                json_integer((json_int_t)json_number_value(inputs)));
    }
    char *text = dump(figures);
    if (text == NULL || strlen(text) <= FITS_TEXT_BYTES)
        return text;
    free(text);
    leave_out(figures, "f1");
    return dump(figures);
}

enum err_code fits_report_read(char **out, const char *dir, struct err *err)
{
    char path[PATH_MAX];
    json_t *root;
    *out = NULL;
    if (file_path(path, dir, "report.json", err) ||
        doc_parse_file(&root, path, REPORT_BYTES_MAX, err))
        return err->code;
    json_t *before = json_object_get(root, sides[0]), *after = json_object_get(root, sides[1]);
    if (json_is_object(before) && json_is_object(after)) {
        json_t *figures = json_pack("{s:O, s:O}", sides[0], before, sides[1], after);
        *out = figures != NULL ? short_enough(figures) : NULL;
        if (*out == NULL)
            err_no_memory(err, FITS_TEXT_BYTES);
        json_decref(figures);
    }
    doc_free(root);
    return err->code;
}
