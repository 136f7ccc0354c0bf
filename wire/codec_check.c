#include "wire/codec_check.h"

#include "engine/base/doc.h"
#include "engine/base/nearest.h"

#include <stdio.h>
#include <string.h>

enum {
    SHOWN_NAME_BYTES = 32, /* longer unknown names are not repeated */
    FEW_NAMES = 3          /* so many known ones are listed */
};

/* The separator between a path and a key. */
static const char *joint(const char *path)
{
    return path[0] == '$' ? "." : "";
}

bool codec_check_listed(const char *name, const struct codec_names *known)
{
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(name, known->list[i]) == 0)
            return true;
    return false;
}

/* The only place where a client's bytes reach an error text: "unknown member" alone does not help,
 * so a name that looks like an identifier is repeated. */
enum err_code codec_check_unknown(const char *path, const char *key, const char *what,
                                  const struct codec_names *known, struct err *err)
{
    static const char sampling[] = "texts are not sampled: the most probable one is searched for, "
                                   "with num_beams hypotheses";
    static const char forcing[] = "a text with certain words is asked for by \"pattern\": "
                                  "\".{0,12}word.*\"";
    static const struct {
        const char *key, *advice;
    } refused[] = {{"do_sample", sampling},  {"temperature", sampling},
                   {"top_p", sampling},      {"typical_p", sampling},
                   {"seed", sampling},       {"force_words_ids", forcing},
                   {"force_words", forcing}, {"constraints", forcing}};
    static const struct {
        const char *elsewhere, *here; /* another route's or server's name of a number of answers */
    } called[] = {{"k", "similar"}, {"top_k", "k"},     {"similar", "k"},
                  {"top_n", "k"},   {"top_n", "top_k"}, {"limit", "k"}};
    static const char shown[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const size_t len = strspn(key, shown);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(key, refused[i].key) == 0)
            return err_set(err, ERR_UNUSABLE, "%s%s%s: %s", path, joint(path), key,
                           refused[i].advice);
    if (key[len] != '\0' || len == 0 || len > SHOWN_NAME_BYTES)
        return err_set(err, ERR_UNUSABLE, "%s: an unknown %s", path, what);
    const char *nearest = nearest_name(key, known->list, known->count);
    for (size_t i = 0; nearest == NULL && i < sizeof called / sizeof *called; i++)
        if (strcmp(key, called[i].elsewhere) == 0 && codec_check_listed(called[i].here, known))
            nearest = called[i].here;
    if (nearest != NULL)
        return err_set(err, ERR_UNUSABLE, "%s%s%s: unknown %s; did you mean \"%s\"?", path,
                       joint(path), key, what, nearest);
    char few[96] = "";
    for (size_t i = 0; known->count <= FEW_NAMES && i < known->count; i++) {
        const size_t used = strlen(few);
        snprintf(few + used, sizeof few - used, "%s%s", i == 0 ? "; known: " : ", ",
                 known->list[i]);
    }
    return err_set(err, ERR_UNUSABLE, "%s%s%s: unknown %s%s", path, joint(path), key, what, few);
}

struct members {
    const char *path;
    const struct codec_names *known;
};

static enum err_code check_member(void *context, const char *key, const struct json_t *value,
                                  struct err *err)
{
    const struct members *members = context;
    (void)value;
    if (codec_check_listed(key, members->known))
        return ERR_OK;
    return codec_check_unknown(members->path, key, "member", members->known, err);
}

enum err_code codec_check_members(const struct json_t *object, const char *path,
                                  const struct codec_names *known, struct err *err)
{
    return doc_each_member(object, check_member, &(struct members){path, known}, err);
}

/* No control characters: C0, DEL, and C1 (U+0080 to U+009F). */
static bool is_printable(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7F)
            return false;
        if (c == 0xC2 && i + 1 < len && (unsigned char)text[i + 1] < 0xA0)
            return false;
    }
    return true;
}

enum err_code codec_check_label(const char *label, size_t len, size_t bytes_max, const char *path,
                                const char *key, struct err *err)
{
    if (len > bytes_max)
        return err_set(err, ERR_UNUSABLE, "%s%s%s: at most %zu bytes, found %zu", path, joint(path),
                       key, bytes_max, len);
    if (!is_printable(label, len))
        return err_set(err, ERR_UNUSABLE, "%s%s%s: must not contain control characters", path,
                       joint(path), key);
    return ERR_OK;
}

enum err_code codec_check_text(const struct json_t *object, const char *path, const char *key,
                               size_t bytes_max, struct arena *arena, const char **out,
                               struct err *err)
{
    const char *text = NULL;
    if (doc_get_string(object, path, key, &text, err) || text == NULL)
        return err->code;
    if (codec_check_label(text, strlen(text), bytes_max, path, key, err))
        return err->code;
    *out = arena_copy(arena, text, strlen(text));
    return *out != NULL ? ERR_OK : err_no_memory(err, strlen(text));
}

enum err_code codec_check_method(const char *word, size_t len, const char *path,
                                 enum explain_method *out, struct err *err)
{
    char name[16] = "";
    if (len < sizeof name && memchr(word, '\0', len) == NULL)
        memcpy(name, word, len);
    if (method_find(name, out))
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%s%sexplain: unknown method; known are true, false, %s",
                   path, joint(path), method_names());
}

enum err_code codec_check_word(struct predict_call *call, const char *key, const char *word,
                               size_t len, const char *path, struct err *err)
{
    const char *expected = NULL;
    if (strcmp(key, "aggregation") == 0)
        expected = aggregation_find(word, len, &call->aggregation) ? NULL : AGGREGATION_NAMES;
    else if (strcmp(key, "encoding") == 0)
        expected =
            vector_encoding_find(word, len, &call->vector.encoding) ? NULL : VECTOR_ENCODING_NAMES;
    else if (strcmp(key, "chunks") == 0)
        expected = vector_chunks_find(word, len, &call->vector.chunks) ? NULL : VECTOR_CHUNKS_NAMES;
    else if (len == strlen("windows") && memcmp(word, "windows", len) == 0)
        call->long_text = LONG_TEXT_WINDOWS;
    else if (len == strlen("truncate") && memcmp(word, "truncate", len) == 0)
        call->long_text = LONG_TEXT_TRUNCATE;
    else
        expected = "truncate or windows";
    if (expected == NULL)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%s%s%s: expected %s", path, joint(path), key, expected);
}

enum err_code codec_check_explain(const struct predict_call *call, const char *path,
                                  struct err *err)
{
    const char *key = call->overlay          ? "overlay"
                      : call->how.statistics ? "attention_stats"
                      : call->how.layer > 0  ? "explain_layer"
                                             : NULL;
    if (call->explain || key == NULL)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "%s%s%s: belongs to an explanation; ask for one with \"explain\"", path,
                   joint(path), key);
}
