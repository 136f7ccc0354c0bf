/* The best way to cut a text, against one that tries every piece at every place. */
#include "engine/text/unigram.h"

#include "engine/base/doc.h"
#include "tests/support/look_counter.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>

enum { PIECES_MAX = 40, LONG = 20000 };

static struct arena arena;

static enum err_code try_read(struct unigram **out, const char *json, struct err *err)
{
    struct json_t *root;
    ck_assert_msg(!doc_parse(&root, json, strlen(json), &doc_limits_file, err), "%s", err->text);
    enum err_code code = unigram_read(out, root, "$.model", &arena, err);
    ck_assert_int_eq(*out == NULL, code != ERR_OK);
    doc_free(root);
    return code;
}

static struct unigram *read_model(const char *json)
{
    struct err err = {0};
    struct unigram *out;
    ck_assert_msg(!try_read(&out, json, &err), "%s", err.text);
    return out;
}

/* "id[at,end) ..." */
static void check(const struct unigram *model, const char *text, const char *expected)
{
    struct unigram_cursor cursor;
    struct unigram_piece piece;
    struct err err = {0};
    char got[256] = "";
    unigram_cursor_init(&cursor, model, &arena, NULL);
    ck_assert(!unigram_cut(&cursor, text, strlen(text), &err));
    for (size_t used = 0; unigram_next(&cursor, &piece);)
        used +=
            (size_t)snprintf(got + used, sizeof got - used, "%s%d[%zu,%zu)", used == 0 ? "" : " ",
                             (int)piece.id, piece.at, piece.at + piece.len);
    ck_assert_str_eq(got, expected);
}

START_TEST(unigram_takes_the_largest_sum)
{
    arena_init(&arena);
    struct unigram *model = read_model(
        "{\"type\": \"Unigram\", \"unk_id\": 0, \"byte_fallback\": false, \"vocab\": [[\"<unk>\", "
        "0],"
        "[\"a\", 0], [\"b\", 0], [\"c\", 0], [\"d\", 0], [\"cd\", 1], [\"ab\", 2], [\"abc\", 5],"
        "[\"abcd\", 10]]}");
    check(model, "abcdacdxx", "8[0,4) 1[4,5) 5[5,7) 0[7,9)");
    check(model, "", "");
    check(model, "x", "0[0,1)");
    check(model,
          "\xC3\xA9\xE4\xB8\xAD"
          "a",
          "0[0,5) 1[5,6)");
    check(model, "<unk>", "0[0,5)");
    check(model, "x<unk>ya", "0[0,7) 1[7,8)"); /* the literal one is the unknown piece too */
    ck_assert_uint_eq(unigram_count(model), 9);
    ck_assert_int_eq(unigram_unknown(model), 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(unigram_keeps_the_earlier_of_equals)
{
    arena_init(&arena);
    struct unigram *model =
        read_model("{\"unk_id\": 0, \"vocab\": [[\"<unk>\", -9], [\"a\", -1], [\"b\", -1],"
                   "[\"c\", -1], [\"ab\", -2], [\"bc\", -2], [\"abc\", -3]]}");
    check(model, "abc", "6[0,3)"); /* longer pieces begin earlier */
    check(model, "ab", "4[0,2)");
    check(model, "bc", "5[0,2)");
    arena_deinit(&arena);
}
END_TEST

START_TEST(unigram_counts_the_unknown_only_without_a_piece_of_one_character)
{
    arena_init(&arena);
    struct unigram *model =
        read_model("{\"unk_id\": 1, \"vocab\": [[\"a\", -100], [\"<unk>\", 0], [\"xy\", -5]]}");
    check(model, "ax", "0[0,1) 1[1,2)"); /* a costs 100, the unknown 110 */
    check(model, "xyx", "2[0,2) 1[2,3)");
    check(model, "xxy", "1[0,1) 2[1,3)");
    arena_deinit(&arena);
}
END_TEST

/* Only with scores above 10 can two unknown characters beat the piece that they make. */
START_TEST(unigram_gives_a_fused_unknown_the_id_of_its_text)
{
    arena_init(&arena);
    struct unigram *model =
        read_model("{\"unk_id\": 0, \"vocab\": [[\"<unk>\", 100], [\"xy\", 101]]}");
    check(model, "xy", "1[0,2)");
    check(model, "yx", "0[0,2)");
    check(model, "xyx", "0[0,3)");
    arena_deinit(&arena);
}
END_TEST

START_TEST(unigram_takes_the_later_of_two_equal_pieces)
{
    arena_init(&arena);
    struct unigram *model = read_model("{\"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"ab\", -1],"
                                       "[\"a\", -2], [\"b\", -2], [\"ab\", -9], [\"\", 3]]}");
    check(model, "ab", "2[0,1) 3[1,2)");
    ck_assert_int_eq(unigram_find(model, "ab", 2), 4);
    ck_assert_int_eq(unigram_find(model, "", 0), UNIGRAM_NONE);
    ck_assert_int_eq(unigram_find(model, "abc", 3), UNIGRAM_NONE);
    ck_assert_int_eq(unigram_find(model, "<un", 3), UNIGRAM_NONE);
    arena_deinit(&arena);
}
END_TEST

START_TEST(unigram_finds_each_of_many_children)
{
    arena_init(&arena);
    char json[4096], piece[2] = "";
    size_t used = (size_t)snprintf(json, sizeof json, "{\"unk_id\": 0, \"vocab\": [[\"?\", 0]");
    for (char c = ']'; c <= '}'; c = (char)(c + 1 + (c == 'k')))
        used +=
            (size_t)snprintf(json + used, sizeof json - used, ",[\"%c\",-1],[\"%c!\",-1]", c, c);
    snprintf(json + used, sizeof json - used, "]}");
    struct unigram *model = read_model(json);
    int32_t id = 1;
    for (piece[0] = '\\'; piece[0] <= '~'; piece[0]++) {
        bool is_there = piece[0] >= ']' && piece[0] <= '}' && piece[0] != 'l';
        ck_assert_int_eq(unigram_find(model, piece, 1), is_there ? id : UNIGRAM_NONE);
        id += is_there ? 2 : 0;
    }
    arena_deinit(&arena);
}
END_TEST

/* ---- the oracle ---- */

struct vocabulary {
    char pieces[PIECES_MAX][8];
    double scores[PIECES_MAX];
    unsigned count;
};

/* Finds the last step to each position, and its piece. It tries every piece at every place. */
static void cut_slowly(const struct vocabulary *vocabulary, const char *text, size_t len,
                       size_t *step, unsigned *piece)
{
    double *sums = malloc((len + 1) * sizeof *sums), lowest = vocabulary->scores[0];
    ck_assert_ptr_nonnull(sums);
    for (unsigned i = 1; i < vocabulary->count; i++)
        lowest = vocabulary->scores[i] < lowest ? vocabulary->scores[i] : lowest;
    memset(step, 0, (len + 1) * sizeof *step);
    sums[0] = 0;
    for (size_t at = 0; at < len; at++) {
        bool has_character = false;
        for (unsigned i = 1; i <= vocabulary->count; i++) {
            unsigned tried = i % vocabulary->count; /* the unknown comes last */
            size_t bytes = tried == 0 ? 1 : strlen(vocabulary->pieces[tried]);
            double score = tried == 0 ? lowest - 10 : vocabulary->scores[tried];
            bool fits = tried == 0 ? !has_character
                                   : bytes <= len - at &&
                                         memcmp(text + at, vocabulary->pieces[tried], bytes) == 0;
            if (!fits)
                continue;
            has_character |= bytes == 1;
            if (step[at + bytes] == 0 || sums[at] + score > sums[at + bytes]) {
                step[at + bytes] = bytes;
                piece[at + bytes] = tried;
                sums[at + bytes] = sums[at] + score;
            }
        }
    }
    free(sums);
}

static void compare(const struct vocabulary *vocabulary, const struct unigram *model,
                    const char *text, size_t len)
{
    size_t *step = malloc((len + 1) * sizeof *step), *begin = malloc((len + 1) * sizeof *begin);
    unsigned *piece = malloc((len + 1) * sizeof *piece);
    struct unigram_cursor cursor;
    struct unigram_piece got;
    struct err err = {0};
    ck_assert(step != NULL && piece != NULL && begin != NULL);
    cut_slowly(vocabulary, text, len, step, piece);
    for (size_t at = len; at > 0; at -= step[at]) /* where the piece that begins here ends */
        begin[at - step[at]] = at;
    unigram_cursor_init(&cursor, model, &arena, NULL);
    ck_assert(!unigram_cut(&cursor, text, len, &err));
    for (size_t at = 0; at < len; at += got.len) {
        size_t end = begin[at];
        unsigned expected = piece[end];
        while (expected == 0 && end < len && piece[begin[end]] == 0)
            end = begin[end];
        ck_assert(unigram_next(&cursor, &got));
        ck_assert_uint_eq(got.at, at);
        ck_assert_uint_eq(got.len, end - at);
        ck_assert_int_eq(got.id, (int)expected);
    }
    ck_assert(!unigram_next(&cursor, &got));
    free(step);
    free(begin);
    free(piece);
}

static bool is_listed(const struct vocabulary *vocabulary, const char *piece)
{
    for (unsigned i = 0; i < vocabulary->count; i++)
        if (strcmp(vocabulary->pieces[i], piece) == 0)
            return true;
    return false;
}

/* Pieces of up to five letters; few scores, so that sums are often equal. */
static struct unigram *random_model(unsigned long long *seed, struct vocabulary *vocabulary)
{
    char json[4096];
    size_t used =
        (size_t)snprintf(json, sizeof json, "{\"unk_id\": 0, \"vocab\": [[\"<unk>\", -3.5]");
    *vocabulary = (struct vocabulary){.pieces = {"<unk>"}, .scores = {-3.5}, .count = 1};
    for (unsigned i = fixture_random(seed, PIECES_MAX); i > 0; i--) {
        char piece[8] = "";
        for (unsigned k = fixture_random(seed, 5) + 1; k > 0; k--)
            piece[strlen(piece)] = (char)('a' + fixture_random(seed, 4));
        if (is_listed(vocabulary, piece))
            continue;
        double score = -0.5 * fixture_random(seed, 8);
        used += (size_t)snprintf(json + used, sizeof json - used, ",[\"%s\",%.1f]", piece, score);
        vocabulary->scores[vocabulary->count] = score;
        strcpy(vocabulary->pieces[vocabulary->count++], piece);
    }
    snprintf(json + used, sizeof json - used, "]}");
    return read_model(json);
}

START_TEST(unigram_agrees_with_the_slow_way)
{
    unsigned long long seed = 1;
    for (int i = 0; i < 2000; i++) {
        arena_init(&arena);
        struct vocabulary vocabulary;
        struct unigram *model = random_model(&seed, &vocabulary);
        char text[48];
        size_t len = fixture_random(&seed, sizeof text);
        for (size_t k = 0; k < len; k++)
            text[k] = (char)('a' + fixture_random(&seed, 5));
        compare(&vocabulary, model, text, len);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(unigram_agrees_with_the_slow_way_on_a_long_text)
{
    unsigned long long seed = 9;
    char *text = malloc(LONG);
    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < 10; i++) {
        arena_init(&arena);
        struct vocabulary vocabulary;
        struct unigram *model = random_model(&seed, &vocabulary);
        for (size_t k = 0; k < LONG; k++)
            text[k] = (char)('a' + fixture_random(&seed, 5));
        compare(&vocabulary, model, text, LONG);
        arena_deinit(&arena);
    }
    free(text);
}
END_TEST

START_TEST(unigram_reaches_as_far_as_the_longest_piece)
{
    arena_init(&arena);
    char piece[UNIGRAM_PIECE_BYTES_MAX + 2], json[2 * sizeof piece], text[8 * sizeof piece] = "";
    memset(piece, 'a', UNIGRAM_PIECE_BYTES_MAX);
    piece[UNIGRAM_PIECE_BYTES_MAX] = '\0';
    snprintf(json, sizeof json,
             "{\"unk_id\": 0, \"vocab\": [[\"?\", 0], [\"a\", -1], [\"%s\", -2]]}", piece);
    struct unigram *model = read_model(json);
    for (int i = 0; i < 5; i++)
        strcat(text, piece);
    check(model, text, "2[0,1024) 2[1024,2048) 2[2048,3072) 2[3072,4096) 2[4096,5120)");
    strcat(piece, "a");
    snprintf(json, sizeof json, "{\"unk_id\": 0, \"vocab\": [[\"%s\", -2]]}", piece);
    struct err err = {0};
    ck_assert_int_eq(try_read(&model, json, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "$.model.vocab[0]: a piece of 1025 bytes; supported are 1024");
    arena_deinit(&arena);
}
END_TEST

START_TEST(unigram_cursor_serves_many_texts_with_one_memory)
{
    arena_init(&arena);
    struct unigram *model = read_model("{\"unk_id\": 0, \"vocab\": [[\"?\", 0], [\"a\", -1]]}");
    struct unigram_cursor cursor;
    struct unigram_piece piece;
    struct err err = {0};
    unigram_cursor_init(&cursor, model, &arena, NULL);
    ck_assert(!unigram_cut(&cursor, "aaaaaaaaaa", 10, &err));
    size_t before = arena.bytes;
    for (size_t len = 0; len < 10; len++) {
        size_t count = 0;
        ck_assert(!unigram_cut(&cursor, "aaaaaaaaaa", len, &err));
        while (unigram_next(&cursor, &piece))
            count++;
        ck_assert_uint_eq(count, len);
    }
    ck_assert_uint_eq(arena.bytes, before);
    arena_deinit(&arena);
}
END_TEST

START_TEST(unigram_ends_when_interrupted)
{
    enum { LEN = 1 << 16 };
    arena_init(&arena);
    struct unigram *model = read_model("{\"unk_id\": 0, \"vocab\": [[\"?\", 0], [\"a\", -1]]}");
    char *text = arena_alloc(&arena, LEN);
    memset(text, 'a', LEN);
    for (unsigned last = 1; last <= 16; last++) {
        struct look_counter counter;
        struct unigram_cursor cursor;
        struct unigram_piece piece;
        struct err err = {0};
        unigram_cursor_init(&cursor, model, &arena, look_counter_init(&counter, last));
        ck_assert_int_eq(unigram_cut(&cursor, text, LEN, &err), ERR_DEADLINE);
        ck_assert_uint_eq(counter.looks, last);
        ck_assert(!unigram_next(&cursor, &piece));
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(unigram_refuses_what_it_cannot_read)
{
    static const struct {
        const char *json;
        enum err_code code;
        const char *text;
    } bad[] = {
        {"{\"unk_id\": 0}", ERR_UNUSABLE, "$.model.vocab: expected a list of 1 to 16777216 pieces"},
        {"{\"unk_id\": 0, \"vocab\": []}", ERR_UNUSABLE,
         "$.model.vocab: expected a list of 1 to 16777216 pieces"},
        {"{\"unk_id\": 0, \"vocab\": {\"a\": 1}}", ERR_UNUSABLE,
         "$.model.vocab: expected a list of 1 to 16777216 pieces"},
        {"{\"unk_id\": 0, \"vocab\": [[\"a\", 1], [\"b\"]]}", ERR_UNUSABLE,
         "$.model.vocab[1]: expected [piece, score]"},
        {"{\"unk_id\": 0, \"vocab\": [[\"a\", 1, 2]]}", ERR_UNUSABLE,
         "$.model.vocab[0]: expected [piece, score]"},
        {"{\"unk_id\": 0, \"vocab\": [[1, 1]]}", ERR_UNUSABLE,
         "$.model.vocab[0]: expected [piece, score]"},
        {"{\"unk_id\": 0, \"vocab\": [[\"a\", \"1\"]]}", ERR_UNUSABLE,
         "$.model.vocab[0]: expected [piece, score]"},
        {"{\"unk_id\": 0, \"vocab\": [7]}", ERR_UNUSABLE,
         "$.model.vocab[0]: expected [piece, score]"},
        {"{\"unk_id\": 1, \"vocab\": [[\"a\", 1]]}", ERR_UNUSABLE, "$.model.unk_id: 1 of 1 pieces"},
        {"{\"unk_id\": null, \"vocab\": [[\"a\", 1]]}", ERR_UNSUPPORTED,
         "$.model.unk_id: a model without one is not supported"},
        {"{\"unk_id\": 0, \"vocab\": [[\"a\", 1]], \"byte_fallback\": true}", ERR_UNSUPPORTED,
         "$.model.byte_fallback: only false is supported"},
        {"{\"unk_id\": 0, \"vocab\": [[\"a\", 1]], \"alpha\": 0.1}", ERR_UNSUPPORTED,
         "$.model.alpha is not supported; a Unigram model has type, vocab, unk_id, byte_fallback"},
    };
    arena_init(&arena);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};
        struct unigram *model;
        ck_assert_int_eq(try_read(&model, bad[i].json, &err), bad[i].code);
        ck_assert_str_eq(err.text, bad[i].text);
    }
    static const char *const wrong[] = {"-1", "0.5", "\"0\"", "1e30", "[0]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char json[128];
        struct err err = {0};
        struct unigram *model;
        snprintf(json, sizeof json, "{\"unk_id\": %s, \"vocab\": [[\"a\", 1]]}", wrong[i]);
        ck_assert_int_ne(try_read(&model, json, &err), ERR_OK);
        ck_assert_ptr_nonnull(strstr(err.text, "unk_id"));
    }
    arena_deinit(&arena);
}
END_TEST

SUITE("unigram", unigram_takes_the_largest_sum, unigram_keeps_the_earlier_of_equals,
      unigram_counts_the_unknown_only_without_a_piece_of_one_character,
      unigram_gives_a_fused_unknown_the_id_of_its_text, unigram_takes_the_later_of_two_equal_pieces,
      unigram_finds_each_of_many_children, unigram_agrees_with_the_slow_way,
      unigram_agrees_with_the_slow_way_on_a_long_text, unigram_reaches_as_far_as_the_longest_piece,
      unigram_cursor_serves_many_texts_with_one_memory, unigram_ends_when_interrupted,
      unigram_refuses_what_it_cannot_read)
