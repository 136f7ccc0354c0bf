/* Byte pair encoding against its definition, and on splits that are long. */
#include "engine/base/doc.h"
#include "engine/text/pipeline/bpe.h"
#include "tests/support/look_counter.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>

enum { PIECES_MAX = 64, SYMBOLS_MAX = 64, ROUNDS = 3000 };

/* A vocabulary of "?", letters a to d and merges of random pairs, as JSON. */
struct sample {
    char pieces[PIECES_MAX][64];
    unsigned count;
    struct {
        unsigned left, right, id;
    } merges[PIECES_MAX];
    unsigned merge_count;
    char json[16384];
};

static unsigned find_piece(const struct sample *sample, const char *text)
{
    for (unsigned i = 0; i < sample->count; i++)
        if (strcmp(sample->pieces[i], text) == 0)
            return i;
    return sample->count;
}

static void sample_merge(struct sample *sample, unsigned left, unsigned right)
{
    char both[64];
    if (strlen(sample->pieces[left]) + strlen(sample->pieces[right]) >= 16)
        return;
    snprintf(both, sizeof both, "%s%s", sample->pieces[left], sample->pieces[right]);
    for (unsigned i = 0; i < sample->merge_count; i++)
        if (sample->merges[i].left == left && sample->merges[i].right == right)
            return;
    unsigned id = find_piece(sample, both);
    if (id == sample->count)
        memcpy(sample->pieces[sample->count++], both, sizeof both);
    sample->merges[sample->merge_count].left = left;
    sample->merges[sample->merge_count].right = right;
    sample->merges[sample->merge_count++].id = id;
}

static void sample_make(struct sample *sample, unsigned long long *state)
{
    static const char *const letters[] = {"?", "a", "b", "c", "d"};
    *sample = (struct sample){0};
    for (unsigned i = 0; i < 5; i++)
        snprintf(sample->pieces[sample->count++], 64, "%s", letters[i]);
    for (unsigned i = 0; i < 24; i++)
        sample_merge(sample, 1 + fixture_random(state, sample->count - 1),
                     1 + fixture_random(state, sample->count - 1));
    char *out = sample->json, *end = out + sizeof sample->json;
    out += snprintf(out, (size_t)(end - out),
                    "{\"type\": \"BPE\", \"unk_token\": \"?\", \"vocab\": {");
    for (unsigned i = 0; i < sample->count; i++)
        out += snprintf(out, (size_t)(end - out), "%s\"%s\": %u", i > 0 ? "," : "",
                        sample->pieces[i], i);
    out += snprintf(out, (size_t)(end - out), "}, \"merges\": [");
    for (unsigned i = 0; i < sample->merge_count; i++)
        out += snprintf(out, (size_t)(end - out), "%s[\"%s\", \"%s\"]", i > 0 ? "," : "",
                        sample->pieces[sample->merges[i].left],
                        sample->pieces[sample->merges[i].right]);
    snprintf(out, (size_t)(end - out), "]}");
}

/* The definition: the pair that was merged first in training, the leftmost of equals, again. */
static unsigned merge_naively(const struct sample *sample, unsigned *ids, unsigned count)
{
    for (;;) {
        unsigned best = sample->merge_count, at = 0;
        for (unsigned i = 0; i + 1 < count; i++)
            for (unsigned m = 0; m < best; m++)
                if (sample->merges[m].left == ids[i] && sample->merges[m].right == ids[i + 1]) {
                    best = m;
                    at = i;
                }
        if (best == sample->merge_count)
            return count;
        ids[at] = sample->merges[best].id;
        memmove(ids + at + 1, ids + at + 2, (count - at - 2) * sizeof *ids);
        count--;
    }
}

struct opened {
    struct json_t *json;
    struct piece_list pieces;
    struct bpe *model;
    struct arena arena;
};

static void open_model(struct opened *opened, const char *json)
{
    struct err err = {0};
    arena_init(&opened->arena);
    ck_assert(!doc_parse(&opened->json, json, strlen(json), &doc_limits_file, &err));
    ck_assert(!piece_list_read(&opened->pieces, doc_member(opened->json, "vocab"), "v",
                               &opened->arena, &err));
    ck_assert_msg(
        !bpe_read(&opened->model, opened->json, &opened->pieces, false, &opened->arena, &err), "%s",
        err.text);
}

static void close_model(struct opened *opened)
{
    doc_free(opened->json);
    arena_deinit(&opened->arena);
}

static void check_word(const struct sample *sample, const struct bpe *model, const char *text,
                       unsigned len)
{
    struct arena arena;
    struct bpe_work work;
    struct err err = {0};
    struct model_cut cuts[SYMBOLS_MAX];
    unsigned ids[SYMBOLS_MAX];
    uint32_t end = 0;
    for (unsigned i = 0; i < len; i++)
        ids[i] = (unsigned)(text[i] - 'a') + 1;
    unsigned expected = merge_naively(sample, ids, len);
    arena_init(&arena);
    ck_assert(!bpe_work_init(&work, len, &arena, NULL, &err));
    ck_assert_uint_eq(bpe_cut(model, &work, text, len, cuts, &err), expected);
    for (unsigned i = 0; i < expected; i++) {
        end += (uint32_t)strlen(sample->pieces[ids[i]]);
        ck_assert_int_eq(cuts[i].id, (int)ids[i]);
        ck_assert_uint_eq(cuts[i].end, end);
    }
    arena_deinit(&arena);
}

/* True if no two merges of the sample give one piece in two ways. Else a queue and the definition
 * may part, as they do in the reference. */
static bool is_unambiguous(const struct sample *sample)
{
    for (unsigned i = 0; i < sample->merge_count; i++)
        for (unsigned j = 0; j < i; j++)
            if (sample->merges[i].id == sample->merges[j].id)
                return false;
    return true;
}

START_TEST(bpe_merges_as_its_definition_says)
{
    unsigned long long state = 7;
    unsigned models = 0;
    struct sample *sample = malloc(sizeof *sample);
    for (unsigned round = 0; round < ROUNDS && models < 40; round++) {
        struct opened opened;
        sample_make(sample, &state);
        if (!is_unambiguous(sample))
            continue;
        models++;
        open_model(&opened, sample->json);
        for (unsigned word = 0; word < 200; word++) {
            char text[SYMBOLS_MAX];
            unsigned len = 1 + fixture_random(&state, SYMBOLS_MAX - 1);
            for (unsigned i = 0; i < len; i++)
                text[i] = (char)('a' + fixture_random(&state, 4));
            check_word(sample, opened.model, text, len);
        }
        close_model(&opened);
    }
    ck_assert_uint_eq(models, 40);
    free(sample);
}
END_TEST

static const char doubling[] = "{\"type\": \"BPE\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, "
                               "\"a\": 1, \"aa\": 2, \"aaaa\": 3}, "
                               "\"merges\": [\"a a\", \"aa aa\"]}";

/* A million symbols that all merge: a quadratic way would take minutes, and this one is left. */
START_TEST(a_long_split_is_merged_and_left_when_interrupted)
{
    enum { LEN = 1000 * 1000 };
    struct opened opened;
    struct arena arena;
    struct bpe_work work;
    struct look_counter counter;
    struct err err = {0};
    char *text = malloc(LEN);
    struct model_cut *cuts = malloc(LEN * sizeof *cuts);
    memset(text, 'a', LEN);
    open_model(&opened, doubling);
    arena_init(&arena);
    ck_assert(!bpe_work_init(&work, LEN, &arena, look_counter_init(&counter, 0), &err));
    ck_assert_uint_le(arena.bytes, (size_t)LEN * BPE_WORK_BYTES + 2 * ARENA_ALIGNMENT);
    ck_assert_uint_eq(bpe_cut(opened.model, &work, text, LEN, cuts, &err), LEN / 4);
    ck_assert_int_eq(cuts[LEN / 4 - 1].id, 3);
    ck_assert_uint_gt(counter.looks, 20);
    work.interrupt = look_counter_init(&counter, 3);
    ck_assert_uint_eq(bpe_cut(opened.model, &work, text, LEN, cuts, &err), 0);
    ck_assert_int_eq(err.code, ERR_DEADLINE);
    ck_assert_uint_eq(counter.looks, 3);
    arena_deinit(&arena);
    close_model(&opened);
    free(text);
    free(cuts);
}
END_TEST

SUITE("bpe", bpe_merges_as_its_definition_says, a_long_split_is_merged_and_left_when_interrupted)
