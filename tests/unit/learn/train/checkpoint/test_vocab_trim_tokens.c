/* A trimmed or exported checkpoint reads the same tokens as before. The trimmed one has new ids. */
#include "engine/format/safetensors_write.h"
#include "engine/text/tokenizer.h"
#include "learn/train/checkpoint/export_files.h"
#include "learn/train/checkpoint/vocab_files.h"
#include "learn/train/checkpoint/vocab_trim.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

enum { PIECES = 12, TOKENS_MAX = 64 };

static const char text[] = "Fail [LOT] nd_fail fail[TOOL] x";
static struct tempdir source, trimmed;

static void put(const char *name, const char *content)
{
    if (content != NULL)
        tempdir_write(&source, name, content, strlen(content));
}

static void open_source(const char *config, const char *added, const char *json)
{
    static const float numbers[PIECES];
    const struct tensor_out tensor = {.name = "bert.embeddings.word_embeddings.weight",
                                      .dtype = DTYPE_F32,
                                      .rank = 2,
                                      .shape = {PIECES, 1},
                                      .values = numbers};
    char path[128];
    struct err err = {0};
    tempdir_open(&source);
    tempdir_open(&trimmed);
    snprintf(path, sizeof path, "%s/model.safetensors", source.path);
    ck_assert(!safetensors_write(path, &tensor, 1, "pt", &err));
    put("vocab.txt", "a\n[PAD]\n[UNK]\nb\n[CLS]\n[SEP]\n[MASK]\nnd_fail\nfail\n[LOT]\nx\n[TOOL]\n");
    put("config.json", "{\"model_type\": \"bert\"}");
    put("tokenizer_config.json", config);
    put("added_tokens.json", added);
    put("tokenizer.json", json);
}

static void close_source(void)
{
    tempdir_close(&source);
    tempdir_close(&trimmed);
}

static enum err_code trim(int32_t *ids, size_t *count, struct err *err)
{
    struct vocab_use *use;
    struct vocab_trimmed result;
    if (vocab_use_open(&use, source.path, err))
        return err->code;
    ck_assert(!vocab_use_add(use, text, strlen(text), err));
    *count = vocab_use_choose(use, &(struct vocab_choice){.keep_min = 1}, ids);
    struct vocab_trim what = {.source_dir = source.path, .use = use, .ids = ids, .count = *count};
    vocab_trim_write(trimmed.path, &what, &result, err);
    vocab_use_close(use);
    return err->code;
}

static void encode(const char *dir, struct tokenizer **tokenizer, struct arena *arena,
                   struct encoding *out)
{
    struct err err = {0};
    ck_assert_msg(!tokenizer_open(tokenizer, dir, TOKENS_MAX, &err), "%s", err.text);
    ck_assert(!tokenizer_encode(*tokenizer, 0, text, strlen(text), NULL, arena, out, &err));
}

static void expect_same(void)
{
    struct tokenizer *before, *after;
    struct encoding old, new;
    struct arena arena;
    struct err err = {0};
    int32_t ids[PIECES];
    size_t count;
    arena_init(&arena);
    ck_assert_msg(!trim(ids, &count, &err), "%s", err.text);
    ck_assert_uint_lt(count, PIECES);
    encode(source.path, &before, &arena, &old);
    encode(trimmed.path, &after, &arena, &new);
    ck_assert_uint_eq(old.count, new.count);
    for (unsigned i = 0; i < old.count; i++) {
        ck_assert_int_eq(old.ids[i], ids[new.ids[i]]);
        ck_assert_uint_eq(old.starts[i], new.starts[i]);
    }
    arena_deinit(&arena);
    tokenizer_close(before);
    tokenizer_close(after);
    close_source();
}

#define TOKEN(text) "{\"content\": \"" text "\", \"special\": true, \"normalized\": false}"

START_TEST(trimmed_checkpoints_read_the_same_tokens)
{
    static const char *const configs[] = {
        NULL,
        "{\"do_lower_case\": false, \"additional_special_tokens\": [\"[LOT]\"]}",
        "{\"added_tokens_decoder\": {\"7\": " TOKEN("nd_fail") ", \"11\": " TOKEN("[TOOL]") "}}",
        "{\"truncation_side\": \"left\", \"model_max_length\": 5}",
    };
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
        for (int has_added = 0; has_added < 2; has_added++) {
            open_source(configs[i], has_added ? "{\"nd_fail\": 7, \"[LOT]\": 9}" : NULL, NULL);
            expect_same();
        }
}
END_TEST

#define JSON(lower, id)                                                                            \
    "{\"normalizer\": {\"type\": \"BertNormalizer\", \"lowercase\": " lower "}, "                  \
    "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, \"post_processor\": {\"type\": "         \
    "\"BertProcessing\", \"cls\": [\"[CLS]\", 4], \"sep\": [\"[SEP]\", 5]}, \"model\": "           \
    "{\"type\": "                                                                                  \
    "\"WordPiece\", \"vocab\": {\"a\": 0, \"[PAD]\": 1, \"[UNK]\": 2, \"b\": 3, \"[CLS]\": 4, "    \
    "\"[SEP]\": 5, \"[MASK]\": 6, \"nd_fail\": 7, \"fail\": 8, \"[LOT]\": 9, \"x\": " id ", "      \
    "\"[TOOL]\": 11}}}"

START_TEST(a_tokenizer_json_that_says_the_same_can_be_trimmed)
{
    open_source(NULL, NULL, JSON("true", "10"));
    expect_same();
}
END_TEST

START_TEST(a_tokenizer_json_that_says_otherwise_is_refused)
{
    struct err err = {0};
    int32_t ids[PIECES];
    size_t count;
    open_source(NULL, NULL, JSON("true", "11"));
    ck_assert_int_eq(trim(ids, &count, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(
        strstr(err.text, "tokenizer.json and vocab.txt differ in the vocabulary"));
    close_source();
    err = (struct err){0};
    open_source("{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", NULL, JSON("false", "10"));
    ck_assert_int_eq(trim(ids, &count, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "tokenizer.json: missing"));
    close_source();
}
END_TEST

/* attnd-train and attnd-fit copy a tokenizer so, each kind of its files. */
START_TEST(exported_tokenizers_read_the_same_tokens)
{
    static const struct {
        const char *config, *added, *json;
    } cases[] = {{NULL, "{\"nd_fail\": 7, \"[LOT]\": 9}", NULL},
                 {"{\"additional_special_tokens\": [\"[LOT]\"]}", NULL, JSON("false", "10")},
                 {"{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", NULL, JSON("false", "10")},
                 {"{\"tokenizer_class\": \"BertTokenizer\"}", NULL, JSON("false", "10")}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokenizer *before, *after;
        struct encoding old, new;
        struct arena arena;
        struct err err = {0};
        open_source(cases[i].config, cases[i].added, cases[i].json);
        put("special_tokens_map.json", "{\"additional_special_tokens\": [\"[TOOL]\"]}");
        tempdir_write(&trimmed, "config.json", "{\"model_type\": \"bert\"}", 22);
        ck_assert(!export_files_tokenizer(trimmed.path, source.path, TOKENS_MAX, &err));
        arena_init(&arena);
        encode(source.path, &before, &arena, &old);
        encode(trimmed.path, &after, &arena, &new);
        ck_assert_uint_eq(old.count, new.count);
        ck_assert_mem_eq(old.ids, new.ids, old.count * sizeof *old.ids);
        arena_deinit(&arena);
        tokenizer_close(before);
        tokenizer_close(after);
        close_source();
    }
}
END_TEST

/* A tokenizer that attnd-vocab builds, also where another one was before. */
START_TEST(built_vocabularies_read_the_same_tokens)
{
    static const char *const pieces[] = {"[PAD]",  "[UNK]", "[CLS]", "[SEP]",
                                         "[MASK]", "fail",  "Fail",  "x"};
    for (int cased = 0; cased < 2; cased++) {
        struct tokenizer *tokenizer;
        struct encoding encoding;
        struct arena arena;
        struct err err = {0};
        open_source(NULL, "{\"nd_fail\": 7}", JSON("true", "10"));
        ck_assert(!vocab_files_write(source.path, pieces, 8, cased, &err));
        arena_init(&arena);
        encode(source.path, &tokenizer, &arena, &encoding);
        ck_assert_int_eq(encoding.ids[0], 2);
        ck_assert_int_eq(encoding.ids[1], cased ? 6 : 5);
        ck_assert_int_eq(encoding.ids[encoding.count - 2], 7);
        ck_assert_int_eq(encoding.ids[encoding.count - 1], 3);
        arena_deinit(&arena);
        tokenizer_close(tokenizer);
        close_source();
    }
}
END_TEST

SUITE("vocab_trim_tokens", exported_tokenizers_read_the_same_tokens,
      built_vocabularies_read_the_same_tokens, trimmed_checkpoints_read_the_same_tokens,
      a_tokenizer_json_that_says_the_same_can_be_trimmed,
      a_tokenizer_json_that_says_otherwise_is_refused)
