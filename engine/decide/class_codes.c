#include "engine/decide/class_codes.h"

#include "engine/base/doc.h"
#include "engine/decide/label_map.h"

#include <math.h>
#include <string.h>

struct reader {
    struct class_code *codes;
    const char *const *labels;
    struct arena *arena;
};

static enum err_code read_code(void *context, unsigned label, const struct json_t *value,
                               struct err *err)
{
    const struct reader *reader = context;
    struct class_code *code = &reader->codes[label];
    const char *text = doc_as_string(value);
    double number;
    code->is_none = strcmp(doc_type_name(value), "null") == 0;
    if (code->is_none)
        return ERR_OK;
    if (doc_as_number(value, &number) && number == floor(number) &&
        fabs(number) <= CLASS_CODE_MAX) {
        code->number = (long long)number;
        return ERR_OK;
    }
    if (text == NULL || text[0] == '\0' || strlen(text) > CLASS_CODE_BYTES_MAX)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.class_codes: the code of '%s' must be an integer, a text of 1 to %d "
                       "bytes, or null",
                       reader->labels[label], CLASS_CODE_BYTES_MAX);
    code->text = arena_copy(reader->arena, text, strlen(text));
    return code->text != NULL ? ERR_OK : err_no_memory(err, strlen(text));
}

enum err_code class_codes_read(const struct class_code **out, const struct json_t *object,
                               const char *const *labels, unsigned label_count, struct arena *arena,
                               struct err *err)
{
    const struct json_t *codes = doc_member(object, "class_codes");
    struct reader reader = {.labels = labels, .arena = arena};
    *out = NULL;
    if (codes == NULL)
        return ERR_OK;
    reader.codes = arena_alloc_array(arena, label_count, sizeof *reader.codes);
    if (reader.codes == NULL)
        return err_no_memory(err, label_count * sizeof *reader.codes);
    *out = reader.codes;
    return label_map_read(codes, "$.class_codes", labels, label_count, read_code, &reader, err);
}
