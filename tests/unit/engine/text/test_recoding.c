/* test_recoding.c - the tokenizers of encoder-decoders and decoding, beside transformers 4.57: what
 * tests/reference/make_recoding_cases.py and make_recoding_variants.py have written. */
#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "engine/text/vocab.h"
#include "tests/unit/engine/text/fixture.h"
#include "tests/unit/engine/text/sentencepiece_fixture.h"

#include <stdlib.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024, TOKENS_MAX = 1000 * 1000, IDS_MAX = 4096 };

static const char *const families[] = {"marian-0", "marian-1", "bart-0",    "t5-0",    "t5-gated-0",
                                       "m2m100-0", "mbart-0",  "pegasus-0", "trocr-0", "trocr-1",
                                       "trocr-3",  "mt5-0",    "umt5-0",    "nllb-0",  "nllb-1",
                                       "mbart-1",  "mbart-2"};

struct sides {
    struct tokenizer *source, *target;
};

static struct json_t *parse_file(const char *path)
{
    struct err err = {0};
    struct json_t *root;
    ck_assert_msg(!doc_parse_file(&root, path, FILE_BYTES_MAX, &err), "%s: %s", path, err.text);
    return root;
}

static unsigned take_ids(const struct json_t *list, int32_t ids[IDS_MAX])
{
    const size_t count = doc_array_count(list);
    ck_assert_uint_le(count, IDS_MAX);
    for (size_t i = 0; i < count; i++) {
        double number = -1;
        ck_assert(doc_as_number(doc_array_item(list, i), &number));
        ids[i] = (int32_t)number;
    }
    return (unsigned)count;
}

/* "decoded": the text without and with special tokens. */
static void check_texts(const struct tokenizer *tokenizer, const int32_t *ids, unsigned count,
                        const struct json_t *decoded, const char *where)
{
    for (unsigned whole = 0; whole < 2; whole++) {
        struct arena arena;
        struct err err = {0};
        const char *text;
        size_t len, expected_len = 0;
        const char *expected = doc_text(doc_array_item(decoded, whole), &expected_len);
        arena_init(&arena);
        ck_assert_msg(!tokenizer_decode(tokenizer, ids, count, !whole, &text, &len, &arena, &err),
                      "%s: %s", where, err.text);
        ck_assert_msg(len == expected_len && memcmp(text, expected, len) == 0,
                      "%s: the text is '%s', not '%s'", where, text, expected);
        ck_assert_int_eq(text[len], '\0');
        arena_deinit(&arena);
    }
}

static int32_t language_of(const struct tokenizer *tokenizer, const struct json_t *code)
{
    unsigned count;
    const struct tokenizer_language *languages = tokenizer_languages(tokenizer, &count);
    for (unsigned i = 0; code != NULL && i < count; i++)
        if (strcmp(languages[i].code, doc_as_string(code)) == 0)
            return languages[i].id;
    ck_assert_ptr_null(code);
    return -1;
}

/* Extents are those of characters in order, and the memory is what was told. */
static void check_encoding(const struct tokenizer *tokenizer, const struct json_t *code,
                           const char *text, size_t len, const struct json_t *expected,
                           const char *where)
{
    int32_t ids[IDS_MAX];
    const unsigned count = take_ids(expected, ids);
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    arena_init(&arena);
    ck_assert_msg(!tokenizer_encode_language(tokenizer, language_of(tokenizer, code), 0, text, len,
                                             NULL, &arena, &encoding, &err),
                  "%s: %s", where, err.text);
    ck_assert_uint_le(arena.bytes, tokenizer_encode_bytes(tokenizer, 0, text, len));
    ck_assert_msg(encoding.count == count, "%s: %s, not %u tokens", where,
                  fixture_print(&encoding, &arena), count);
    for (unsigned i = 0; i < count; i++) {
        ck_assert_msg(encoding.ids[i] == ids[i], "%s: %s, token %u must be %d", where,
                      fixture_print(&encoding, &arena), i, (int)ids[i]);
        ck_assert_uint_le(encoding.starts[i], encoding.ends[i]);
        ck_assert_uint_le(encoding.ends[i], len);
    }
    arena_deinit(&arena);
}

static size_t check_cases(const struct sides *sides, const struct json_t *root, const char *name)
{
    const struct json_t *cases = doc_member(root, "cases");
    const struct json_t *hypotheses = doc_member(root, "hypotheses");
    int32_t ids[IDS_MAX];
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        const struct json_t *item = doc_array_item(cases, i);
        const struct json_t *languages = doc_member(item, "languages");
        char where[200];
        size_t len;
        const char *text = doc_text(doc_member(item, "text"), &len);
        snprintf(where, sizeof where, "%s, source of case %zu", name, i);
        check_encoding(sides->source, doc_array_item(languages, 0), text, len,
                       doc_member(item, "ids"), where);
        snprintf(where, sizeof where, "%s, target of case %zu", name, i);
        check_encoding(sides->target, doc_array_item(languages, 1), text, len,
                       doc_member(item, "target_ids"), where);
        check_texts(sides->target, ids, take_ids(doc_member(item, "target_ids"), ids),
                    doc_member(item, "decoded"), where);
    }
    for (size_t i = 0; i < doc_array_count(hypotheses); i++) {
        const struct json_t *item = doc_array_item(hypotheses, i);
        char where[200];
        snprintf(where, sizeof where, "%s, hypothesis %zu", name, i);
        check_texts(sides->target, ids, take_ids(doc_member(item, "ids"), ids),
                    doc_member(item, "decoded"), where);
    }
    return doc_array_count(cases) + doc_array_count(hypotheses);
}

static struct sides open_sides(const char *dir)
{
    struct err err = {0};
    struct sides sides;
    ck_assert_msg(!tokenizer_open(&sides.source, dir, TOKENS_MAX, &err), "%s: %s", dir, err.text);
    ck_assert_msg(!tokenizer_open_target(&sides.target, dir, TOKENS_MAX, &err), "%s: %s", dir,
                  err.text);
    return sides;
}

static void close_sides(struct sides *sides)
{
    tokenizer_close(sides->source);
    tokenizer_close(sides->target);
}

START_TEST(encoder_decoders_are_encoded_and_decoded_as_by_transformers)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {

        char dir[128], path[256];
        snprintf(dir, sizeof dir, "tests/data/recoding/%s", families[i]);
        snprintf(path, sizeof path, "%s/cases.json", dir);
        struct sides sides = open_sides(dir);
        struct json_t *root = parse_file(path);
        ck_assert_uint_ge(check_cases(&sides, root, families[i]), 115);
        doc_free(root);
        close_sides(&sides);
    }
}
END_TEST

/* Writes a file of a variant: JSON, or base64. */
static enum err_code write_file(void *context, const char *name, const struct json_t *value,
                                struct err *err)
{
    const struct tempdir *dir = context;
    size_t len;
    const char *text = doc_text(value, &len);
    char *bytes = malloc(base64_decoded_size(len) + 1);
    ck_assert_ptr_nonnull(bytes);
    if (strstr(name, ".json") == NULL) {
        ck_assert(!base64_decode(bytes, &len, text, len, 0, err));
        text = bytes;
    }
    tempdir_write(dir, name, text, len);
    free(bytes);
    return ERR_OK;
}

START_TEST(fields_of_sentencepiece_models_count_as_in_transformers)
{
    struct json_t *root = parse_file("tests/data/recoding/variants.json");
    ck_assert_uint_ge(doc_array_count(root), 45);
    for (size_t i = 0; i < doc_array_count(root); i++) {
        const struct json_t *variant = doc_array_item(root, i);
        struct tempdir dir;
        struct err err = {0};
        tempdir_open(&dir);
        doc_each_member(doc_member(variant, "files"), write_file, &dir, &err);
        struct sides sides = open_sides(dir.path);
        check_cases(&sides, variant, doc_as_string(doc_member(variant, "name")));
        close_sides(&sides);
        tempdir_close(&dir);
    }
    doc_free(root);
}
END_TEST

static enum err_code check_decoder(void *context, const char *name, const struct json_t *list,
                                   struct err *err)
{
    size_t *count = context;
    struct tokenizer *tokenizer;
    char dir[128];
    int32_t ids[IDS_MAX];
    snprintf(dir, sizeof dir, "tests/data/tokenizer/%s", name);
    ck_assert_msg(!tokenizer_open(&tokenizer, dir, TOKENS_MAX, err), "%s: %s", dir, err->text);
    for (size_t i = 0; i < doc_array_count(list); i++, ++*count) {
        const struct json_t *item = doc_array_item(list, i);
        check_texts(tokenizer, ids, take_ids(doc_member(item, "ids"), ids),
                    doc_member(item, "decoded"), name);
    }
    tokenizer_close(tokenizer);
    return ERR_OK;
}

START_TEST(every_tokenizer_decodes_as_transformers)
{
    struct json_t *root = parse_file("tests/data/recoding/decode.json");
    struct err err = {0};
    size_t count = 0;
    doc_each_member(root, check_decoder, &count, &err);
    ck_assert_uint_ge(count, 270);
    doc_free(root);
}
END_TEST

/* ---- what tokens add ---- */

enum { ADDED_TOKENS = 12, ADDED_ROUNDS = 400, ADDED_BYTES = 16384 };

struct additions {
    const char *bytes;
    const uint32_t *offset;
};

/* Writes what the tokens add one behind the other; returns the bytes. */
static size_t join_additions(const struct tokenizer *tokenizer, const struct additions sets[2],
                             const int32_t *ids, unsigned count, char *text)
{
    bool has_first = false;
    size_t len = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct additions *set = &sets[has_first ? 1 : 0];
        const uint32_t begin = set->offset[ids[i]], bytes = set->offset[ids[i] + 1] - begin;
        ck_assert_uint_lt(len + bytes, ADDED_BYTES);
        memcpy(text + len, set->bytes + begin, bytes);
        len += bytes;
        has_first = has_first || bytes > 0 || !tokenizer_strips(tokenizer);
    }
    return len;
}

/* Random tokens: what they add is their text. Returns how many texts were compared. */
static unsigned check_additions(const struct tokenizer *tokenizer, const char *where)
{
    static char joined[ADDED_BYTES];
    struct additions sets[2];
    struct arena arena;
    struct err err = {0};
    uint32_t state = 7;
    unsigned compared = 0;
    arena_init(&arena);
    for (int later = 0; later < 2; later++)
        if (tokenizer_additions(tokenizer, tokenizer->vocab_size, !later, &sets[later].bytes,
                                &sets[later].offset, &arena, &err)) {
            ck_assert_msg(err.code == ERR_UNSUPPORTED, "%s: %s", where, err.text);
            arena_deinit(&arena);
            return 0;
        }
    ck_assert_uint_le(arena.bytes, 2 * tokenizer_additions_bytes(tokenizer, tokenizer->vocab_size));
    if (!tokenizer_first_differs(tokenizer))
        ck_assert_mem_eq(sets[0].offset, sets[1].offset,
                         tokenizer->vocab_size * sizeof *sets[0].offset);
    for (unsigned round = 0; round < ADDED_ROUNDS; round++) {
        int32_t ids[ADDED_TOKENS];
        unsigned count = 0;
        const char *text;
        size_t len;
        for (unsigned i = 0; i < 1 + round % ADDED_TOKENS; i++) {
            state = state * 1664525u + 1013904223u;
            ids[count] = (int32_t)((state >> 8) % tokenizer->vocab_size);
            count += sets[1].offset[ids[count]] < sets[1].offset[ids[count] + 1];
        }
        const size_t bytes = join_additions(tokenizer, sets, ids, count, joined);
        if (!utf8_is_valid(joined, bytes))
            continue;
        ck_assert(!tokenizer_strips(tokenizer) || bytes == 0 || joined[0] != ' ');
        ck_assert(!tokenizer_decode(tokenizer, ids, count, true, &text, &len, &arena, &err));
        const size_t finished = tokenizer_finish(tokenizer, joined, bytes);
        ck_assert_msg(finished == len && memcmp(joined, text, len) == 0, "%s: '%.*s', not '%s'",
                      where, (int)finished, joined, text);
        compared++;
    }
    arena_deinit(&arena);
    return compared;
}

static enum err_code check_additions_of(void *context, const char *name, const struct json_t *list,
                                        struct err *err)
{
    unsigned *kinds = context;
    struct tokenizer *tokenizer;
    char dir[128];
    (void)list;
    snprintf(dir, sizeof dir, "tests/data/tokenizer/%s", name);
    ck_assert(!tokenizer_open(&tokenizer, dir, TOKENS_MAX, err));
    *kinds += check_additions(tokenizer, name) > ADDED_ROUNDS / 8;
    tokenizer_close(tokenizer);
    return ERR_OK;
}

START_TEST(what_tokens_add_is_the_decoded_text)
{
    struct json_t *root = parse_file("tests/data/recoding/decode.json");
    struct err err = {0};
    unsigned kinds = 0;
    doc_each_member(root, check_additions_of, &kinds, &err);
    ck_assert_uint_eq(kinds, 8); /* all but CLIP's, whose tokens end words */
    doc_free(root);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        char dir[128];
        snprintf(dir, sizeof dir, "tests/data/recoding/%s", families[i]);
        struct sides sides = open_sides(dir);
        ck_assert_uint_gt(check_additions(sides.target, families[i]), ADDED_ROUNDS / 8);
        close_sides(&sides);
    }
    root = parse_file("tests/data/recoding/variants.json");
    for (size_t i = 0; i < doc_array_count(root); i++) {
        const struct json_t *variant = doc_array_item(root, i);
        struct tempdir dir;
        tempdir_open(&dir);
        doc_each_member(doc_member(variant, "files"), write_file, &dir, &err);
        struct sides sides = open_sides(dir.path);
        ck_assert_uint_gt(check_additions(sides.target, doc_as_string(doc_member(variant, "name"))),
                          0);
        close_sides(&sides);
        tempdir_close(&dir);
    }
    doc_free(root);
}
END_TEST

static struct tempdir open_variant(const char *name)
{
    struct json_t *root = parse_file("tests/data/recoding/variants.json");
    struct tempdir dir;
    struct err err = {0};
    bool is_found = false;
    tempdir_open(&dir);
    for (size_t i = 0; i < doc_array_count(root) && !is_found; i++) {
        const struct json_t *variant = doc_array_item(root, i);
        is_found = strcmp(doc_as_string(doc_member(variant, "name")), name) == 0;
        if (is_found)
            doc_each_member(doc_member(variant, "files"), write_file, &dir, &err);
    }
    ck_assert(is_found);
    doc_free(root);
    return dir;
}

static int32_t find_code(const struct tokenizer *tokenizer, const char *code)
{
    unsigned count;
    const struct tokenizer_language *languages = tokenizer_languages(tokenizer, &count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(languages[i].code, code) == 0)
            return languages[i].id;
    return VOCAB_NONE;
}

START_TEST(languages_have_the_ids_of_their_family)
{
    static const struct {
        const char *dir, *code, *first, *last;
        unsigned count;
        int32_t id;
    } rows[] = {{"m2m100-0", "de", "af", "zu", 100, 347},
                {"mbart-0", "de_DE", "ar_AR", "sl_SI", 52, 333},
                {"nllb-0", "deu_Latn", "ace_Arab", "zul_Latn", 202, 213},
                {"nllb-1", "deu_Latn", "ace_Arab", "zul_Latn", 202, 213},
                {"mbart-1", "de_DE", "ar_AR", "zh_CN", 25, 163},
                {"mbart-2", "de_DE", "ar_AR", "sl_SI", 52, 163},
                {"bart-0", NULL, NULL, NULL, 0, 0},
                {"marian-0", NULL, NULL, NULL, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char dir[128];
        unsigned count;
        snprintf(dir, sizeof dir, "tests/data/recoding/%s", rows[i].dir);
        struct sides sides = open_sides(dir);
        const struct tokenizer_language *languages = tokenizer_languages(sides.source, &count);
        ck_assert_uint_eq(count, rows[i].count);
        if (count > 0) {
            ck_assert_int_eq(find_code(sides.target, rows[i].code), rows[i].id);
            ck_assert_str_eq(languages[0].code, rows[i].first);
            ck_assert_str_eq(languages[count - 1].code, rows[i].last);
            ck_assert_int_eq(languages[count - 1].id - languages[0].id, (int)count - 1);
        }
        close_sides(&sides);
    }
}
END_TEST

/* Marian's language is the token that a text may begin with. */
START_TEST(a_language_of_marian_stands_before_the_text)
{
    struct tempdir dir = open_variant("marian");
    struct sides sides = open_sides(dir.path);
    struct arena arena;
    struct err err = {0};
    struct encoding given, written;
    const int32_t id = find_code(sides.source, "deu");
    arena_init(&arena);
    ck_assert_int_ge(id, 0);
    ck_assert_int_eq(id, tokenizer_find(sides.source, ">>deu<<", 7));
    ck_assert_int_eq(find_code(sides.source, "eng"), VOCAB_NONE);
    ck_assert(
        !tokenizer_encode_language(sides.source, id, 0, "the die", 7, NULL, &arena, &given, &err));
    ck_assert(
        !tokenizer_encode(sides.source, 0, ">>deu<<the die", 14, NULL, &arena, &written, &err));
    ck_assert_uint_eq(given.count, written.count);
    ck_assert_mem_eq(given.ids, written.ids, given.count * sizeof *given.ids);
    ck_assert_uint_eq(given.ends[0], 0);
    ck_assert_uint_eq(written.ends[0], 7);
    arena_deinit(&arena);
    close_sides(&sides);
    tempdir_close(&dir);
}
END_TEST

START_TEST(encoder_decoders_refuse_by_name_what_they_do_not_obey)
{
#define CLASS(name, members) "{\"tokenizer_class\":\"" name "Tokenizer\"" members "}"
    static const struct {
        const char *config, *vocab, *text; /* vocab "": none, and one control piece */
    } rows[] = {
        {CLASS("T5", ",\"sp_model_kwargs\":{\"nbest_size\":2}"), NULL,
         "tokenizer_config.json: $.sp_model_kwargs: only an empty object is supported"},
        {CLASS("T5", ",\"extra_ids\":101"), NULL,
         "tokenizer_config.json: $.extra_ids: 101, but $.additional_special_tokens lists 0 of "
         "<extra_id_0> and so on"},
        {CLASS("T5",
               ",\"added_tokens_decoder\":{\"200\":{\"content\":\"x\",\"single_word\":true}}"),
         NULL, "tokenizer_config.json: added token: single_word is not supported"},
        {CLASS("T5", ",\"added_tokens_decoder\":{\"2\":{\"content\":\"x\"}}"), NULL,
         "tokenizer_config.json: added token 'x' has the id 2 of another piece"},
        {CLASS("T5", ",\"unk_token\":\"<a-very-long-unknown>\",\"legacy\":false"), NULL,
         "tokenizer_config.json: $.legacy: false without an unk_token of at most 16 bytes is not "
         "supported"},
        {CLASS("Pegasus", ",\"mask_token_sent\":null"), NULL,
         "tokenizer_config.json: $.mask_token_sent: null is not supported"},
        {CLASS("Pegasus", ",\"added_tokens_decoder\":{\"5\":{\"content\":\"x\"}}"), NULL,
         "tokenizer_config.json: added token 5 must be '<unk_3>'"},
        {CLASS("Marian", ""), NULL, "vocab.json: missing, which has the ids of the pieces"},
        {CLASS("Marian", ",\"separate_vocabs\":true"), "{\"</s>\":0,\"<unk>\":1,\"<pad>\":2}",
         "target_vocab.json: missing, which has the ids of the pieces"},
        {CLASS("Marian", ""), "{\"</s>\":0}",
         "source.spm: the vocabulary has no unk_token '<unk>'"},
        {CLASS("M2M100", ""), "{\"</s>\":0,\"<unk>\":2}",
         "vocab.json: $: the ids of 2 pieces must be those from 0 on, each once"},
        {CLASS("M2M100", ",\"src_lang\":\"xx\""), "{\"</s>\":0,\"<unk>\":1}",
         "tokenizer_config.json: $.src_lang: 'xx' is no language of M2M100Tokenizer"},
        {CLASS("M2M100", ",\"source_spm\":\"a\""), "{\"</s>\":0,\"<unk>\":1}",
         "tokenizer_config.json: $.source_spm: another file than the directory's own is not "
         "supported; remove the member"},
        {CLASS("Nllb", ""), "",
         "sentencepiece.bpe.model: the first pieces must be the unknown one and two control "
         "pieces"},
        {CLASS("Nllb", ",\"bos_token\":null"), NULL,
         "tokenizer_config.json: $.bos_token: null is not supported"},
        {CLASS("Nllb", ",\"bos_token\":\"a\""), NULL,
         "sentencepiece.bpe.model: the text of token 4 is that of another token"},
        {CLASS("Nllb", ",\"src_lang\":\"en_XX\""), NULL,
         "tokenizer_config.json: $.src_lang: 'en_XX' is no language of NllbTokenizer"},
        {CLASS("Nllb", ",\"legacy_behaviour\":1"), NULL,
         "tokenizer_config.json: $.legacy_behaviour: expected true or false, found a number"},
        {CLASS("MBart", ",\"src_lang\":\"eng_Latn\""), NULL,
         "tokenizer_config.json: $.src_lang: 'eng_Latn' is no language of MBartTokenizer"},
        {CLASS("MBart50", ",\"unk_token\":\"[UNK]\""), NULL,
         "sentencepiece.bpe.model: the vocabulary has no unk_token '[UNK]'"},
    };
    static const char *const names[] = {"spiece.model", "source.spm", "target.spm",
                                        "sentencepiece.bpe.model"};
    static struct wire wires[2];
    for (int is_short = 0; is_short < 2; is_short++) {
        wire_piece(&wires[is_short], "<unk>", 0, 2);
        wire_piece(&wires[is_short], "</s>", 0, 3);
        wire_piece(&wires[is_short], "<s>", 0, is_short ? 0 : 3);
        wire_piece(&wires[is_short], "a", -1, 0);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tempdir dir;
        struct tokenizer *tokenizer;
        struct err err = {0};
        const char *vocab = rows[i].vocab;
        const struct wire *wire = &wires[vocab != NULL && vocab[0] == '\0'];
        tempdir_open(&dir);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            tempdir_write(&dir, names[k], wire->bytes, wire->len);
        tempdir_write(&dir, "tokenizer_config.json", rows[i].config, strlen(rows[i].config));
        if (vocab != NULL && vocab[0] != '\0')
            tempdir_write(&dir, "vocab.json", vocab, strlen(vocab));
        if (tokenizer_open(&tokenizer, dir.path, TOKENS_MAX, &err) == ERR_OK) {
            tokenizer_close(tokenizer);
            tokenizer_open_target(&tokenizer, dir.path, TOKENS_MAX, &err);
        }
        ck_assert_ptr_null(tokenizer);
        ck_assert_str_eq(err.text, rows[i].text);
        tempdir_close(&dir);
    }
}
END_TEST

SUITE("recoding", languages_have_the_ids_of_their_family,
      a_language_of_marian_stands_before_the_text,
      encoder_decoders_refuse_by_name_what_they_do_not_obey,
      encoder_decoders_are_encoded_and_decoded_as_by_transformers,
      fields_of_sentencepiece_models_count_as_in_transformers,
      every_tokenizer_decodes_as_transformers, what_tokens_add_is_the_decoded_text)
