#include "learn/train/checkpoint/vocab_trim.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "engine/format/checkpoint.h"
#include "engine/text/tokenizer.h"
#include "learn/data/dataset.h"
#include "learn/train/checkpoint/vocab_files.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/contract.h"
#include "tests/support/run_logits.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL "models/kernel-bert"

enum { LABELS = 10 };

static void logits_of(const char *dir, const struct dataset *dataset, float *logits)
{
    struct engine_model *model;
    struct engine_session *session;
    struct err err = {0};
    ck_assert_msg(!engine_open(&model, dir, &(struct engine_options){0}, &err), "%s", err.text);
    ck_assert_int_eq(engine_session_open(&session, model, 1, 1, &err), ERR_OK);
    for (size_t i = 0; i < dataset->count; i++) {
        struct arena arena;
        struct engine_input input;
        arena_init(&arena);
        ck_assert_int_eq(engine_prepare(model,
                                        &(struct engine_source){.kind = ENGINE_TEXT,
                                                                .bytes = dataset->items[i].input,
                                                                .len = dataset->items[i].input_len},
                                        NULL, &arena, &input, &err),
                         ERR_OK);
        run_logits_one(session, &input, logits + i * LABELS);
        arena_deinit(&arena);
    }
    engine_session_close(session);
    engine_close(model);
}

/* Trims by the data set's texts; the number of pieces that stay. */
static size_t trim(const char *source, const char *dir, const struct dataset *dataset,
                   struct vocab_trimmed *trimmed, struct err *err)
{
    struct vocab_use *use;
    ck_assert_msg(!vocab_use_open(&use, source, err), "%s", err->text);
    for (size_t i = 0; dataset != NULL && i < dataset->count; i++)
        ck_assert_int_eq(
            vocab_use_add(use, dataset->items[i].input, dataset->items[i].input_len, err), ERR_OK);
    int32_t *ids = calloc(vocab_use_size(use), sizeof *ids);
    ck_assert_ptr_nonnull(ids);
    struct vocab_trim what = {.source_dir = source, .use = use, .ids = ids};
    what.count = vocab_use_choose(use, &(struct vocab_choice){.keep_min = 1}, ids);
    vocab_trim_write(dir, &what, trimmed, err);
    free(ids);
    vocab_use_close(use);
    return what.count;
}

START_TEST(vocab_trim_leaves_the_logits_of_its_texts_as_they_were)
{
    struct tempdir dir;
    struct dataset dataset;
    struct dataset_options options = {.kind = ENGINE_TEXT};
    struct vocab_trimmed trimmed;
    struct err err = {0};
    tempdir_open(&dir);
    ck_assert_int_eq(dataset_open(&dataset, "tests/data/eval/kernel.jsonl", &options, &err),
                     ERR_OK);
    size_t count = trim(KERNEL, dir.path, &dataset, &trimmed, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_uint_lt(count, 1000); /* of 3569 */
    ck_assert_uint_eq(trimmed.numbers_before - trimmed.numbers_after, (3569 - count) * 384);
    float *before = calloc(dataset.count, LABELS * sizeof *before);
    float *after = calloc(dataset.count, LABELS * sizeof *after);
    logits_of(KERNEL, &dataset, before);
    logits_of(dir.path, &dataset, after);
    ck_assert_mem_eq(before, after, dataset.count * LABELS * sizeof *before);
    free(before);
    free(after);
    dataset_close(&dataset);
    tempdir_close(&dir);
}
END_TEST

/* A model whose special tokens stand behind the words, with a language-model head. */
static void write_model(struct checkpoint_writer *writer)
{
    checkpoint_writer_open(writer);
    checkpoint_writer_add(writer, "bert.embeddings.word_embeddings.weight", 9, 3);
    checkpoint_writer_add(writer, "cls.predictions.bias", 8, 0);
    checkpoint_writer_add(writer, "other.weight", 8, 2);
    writer->mistype = "bert.embeddings.position_ids";
    checkpoint_writer_add(writer, "bert.embeddings.position_ids", 4, 0);
    checkpoint_writer_finish(writer);
    checkpoint_writer_file(writer, "vocab.txt",
                           "fail\n[PAD]\npass\n[UNK]\nword\n[CLS]\n[SEP]\n[MASK]\n");
    checkpoint_writer_file(writer, "config.json",
                           "{\"vocab_size\": 9, \"pad_token_id\": 1, \"eos_token_id\": 4, "
                           "\"mine\": [1]}");
    checkpoint_writer_file(writer, "tokenizer_config.json",
                           "{\"model_max_length\": 1000000000000000019884624838656,"
                           " \"added_tokens_decoder\": {"
                           "\"1\": {\"content\": \"[PAD]\", \"special\": true},"
                           "\"3\": {\"content\": \"[UNK]\", \"special\": true},"
                           "\"7\": {\"content\": \"[MASK]\", \"special\": true}}}");
    checkpoint_writer_file(writer, "attnd.json", "{\"temperature\": 2}");
}

static struct json_t *json_of(const char *dir, const char *name)
{
    char path[128];
    struct json_t *root;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    ck_assert_msg(!doc_parse_file(&root, path, 1 << 20, &err), "%s", err.text);
    return root;
}

static void expect_number(const struct json_t *root, const char *path, double expected)
{
    double number = -1;
    ck_assert_msg(doc_as_number(contract_at(root, path), &number), "%s", path);
    ck_assert_msg(number == expected, "%s: %g instead of %g", path, number, expected);
}

/* Row `row` of a tensor of rows of `width` numbers, in one directory, is row `old` in the other. */
static void expect_row(const struct checkpoint *now, const struct checkpoint *was, const char *name,
                       size_t width, size_t row, size_t old)
{
    float a[4], b[4];
    struct err err = {0};
    ck_assert_int_eq(
        checkpoint_read_f32(now, checkpoint_find(now, name), row * width, width, a, &err), ERR_OK);
    ck_assert_int_eq(
        checkpoint_read_f32(was, checkpoint_find(was, name), old * width, width, b, &err), ERR_OK);
    ck_assert_mem_eq(a, b, width * sizeof *a);
}

START_TEST(vocab_trim_moves_rows_and_ids_together)
{
    static const size_t old[] = {1, 3, 4, 5, 6, 7};
    struct checkpoint_writer writer;
    struct tempdir dir;
    struct vocab_trimmed trimmed;
    struct dataset_item item = {.input = "word", .input_len = 4};
    struct dataset corpus = {.items = &item, .count = 1};
    struct checkpoint *was, *now;
    struct err err = {0};
    tempdir_open(&dir);
    tempdir_write(&dir, "tokenizer.json", "{}", 2);
    write_model(&writer);
    ck_assert_uint_eq(trim(writer.dir, dir.path, &corpus, &trimmed, &err), 6);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert(!checkpoint_open(&was, writer.dir, &err) && !checkpoint_open(&now, dir.path, &err));
    ck_assert_uint_eq(checkpoint_count(now), 3);
    for (size_t i = 0; i < 6; i++) {
        expect_row(now, was, "bert.embeddings.word_embeddings.weight", 3, i, old[i]);
        expect_row(now, was, "cls.predictions.bias", 1, i, old[i]);
    }
    ck_assert_uint_eq(checkpoint_find(now, "other.weight")->shape[0], 8);
    checkpoint_close(was);
    checkpoint_close(now);
    struct json_t *config = json_of(dir.path, "config.json");
    expect_number(config, "vocab_size", 6);
    expect_number(config, "pad_token_id", 0);
    expect_number(config, "eos_token_id", 2);
    expect_number(config, "mine.0", 1);
    doc_free(config);
    config = json_of(dir.path, "attnd.json");
    expect_number(config, "temperature", 2);
    doc_free(config);
    struct tokenizer *tokenizer; /* refuses ids that disagree with vocab.txt */
    ck_assert_msg(!tokenizer_open(&tokenizer, dir.path, 8, &err), "%s", err.text);
    ck_assert_uint_eq(tokenizer->vocab_size, 6);
    tokenizer_close(tokenizer);
    config = json_of(dir.path, "tokenizer_config.json");
    const struct json_t *added = doc_member(config, "added_tokens_decoder");
    ck_assert_uint_eq(doc_object_count(added), 3);
    ck_assert_str_eq(doc_as_string(contract_at(added, "0.content")), "[PAD]");
    ck_assert_str_eq(doc_as_string(contract_at(added, "1.content")), "[UNK]");
    ck_assert_str_eq(doc_as_string(contract_at(added, "5.content")), "[MASK]");
    doc_free(config);
    char path[128];
    snprintf(path, sizeof path, "%s/tokenizer.json", dir.path);
    ck_assert_int_ne(access(path, F_OK), 0);
    checkpoint_writer_close(&writer);
    tempdir_close(&dir);
}
END_TEST

START_TEST(vocab_trim_does_not_write_over_the_model)
{
    struct checkpoint_writer writer;
    struct vocab_trimmed trimmed;
    struct err err = {0};
    char path[128];
    write_model(&writer);
    snprintf(path, sizeof path, "%s/.", writer.dir);
    trim(writer.dir, path, NULL, &trimmed, &err);
    ck_assert_int_eq(err.code, ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "is the model itself"));
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(vocab_trim_refuses_too_few_rows_and_no_embedding)
{
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    static const struct {
        const char *tensor, *text;
    } cases[] = {
        {"bert.embeddings.word_embeddings.weight", "4 rows, but a piece 4 is kept"},
        {"bert.embeddings.weight", "no tensor is a word embedding"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct checkpoint_writer writer;
        struct tempdir dir;
        struct vocab_trimmed trimmed;
        struct err err = {0};
        tempdir_open(&dir);
        checkpoint_writer_open(&writer);
        checkpoint_writer_add(&writer, cases[i].tensor, 4, 3);
        checkpoint_writer_finish(&writer);
        checkpoint_writer_file(&writer, "vocab.txt", vocab);
        checkpoint_writer_file(&writer, "config.json", "{}");
        trim(writer.dir, dir.path, NULL, &trimmed, &err);
        ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
        ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
        ck_assert_int_eq(strncmp(err.text, writer.dir, strlen(writer.dir)), 0);
        checkpoint_writer_close(&writer);
        tempdir_close(&dir);
    }
}
END_TEST

/* The file that says how a model decides is copied. Another form of the vocabulary is dropped: it
 * would contradict the new one. */
START_TEST(vocab_trim_takes_what_stays_true_and_drops_what_does_not)
{
    static const char decides[] = "{\"version\": \"4\"}";
    struct checkpoint_writer writer;
    struct tempdir dir;
    struct vocab_trimmed trimmed;
    struct err err = {0};
    char path[96], *bytes;
    size_t len;
    tempdir_open(&dir);
    tempdir_write(&dir, "tokenizer.json", "{}", 2);
    tempdir_write(&dir, "added_tokens.json", "{}", 2);
    checkpoint_writer_open(&writer);
    checkpoint_writer_add(&writer, "bert.embeddings.word_embeddings.weight", 6, 3);
    checkpoint_writer_finish(&writer);
    checkpoint_writer_file(&writer, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nw\n");
    checkpoint_writer_file(&writer, "config.json", "{}");
    checkpoint_writer_file(&writer, "attnd.json", decides);
    trim(writer.dir, dir.path, NULL, &trimmed, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    snprintf(path, sizeof path, "%s/attnd.json", dir.path);
    ck_assert(!file_read(&bytes, &len, path, 1 << 10, &err));
    ck_assert(len == strlen(decides) && memcmp(bytes, decides, len) == 0);
    free(bytes);
    snprintf(path, sizeof path, "%s/tokenizer.json", dir.path);
    ck_assert_int_ne(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/added_tokens.json", dir.path);
    ck_assert_int_ne(access(path, F_OK), 0);
    checkpoint_writer_close(&writer);
    tempdir_close(&dir);
}
END_TEST

START_TEST(vocab_files_of_a_new_tokenizer_are_read_as_meant)
{
    static const char *const pieces[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "VDD"};
    struct tempdir dir;
    struct tokenizer *tokenizer;
    struct encoding encoding;
    struct arena arena;
    struct err err = {0};
    tempdir_open(&dir);
    tempdir_write(&dir, "tokenizer.json", "{}", 2);
    for (int cased = 0; cased <= 1; cased++) {
        ck_assert_msg(!vocab_files_write(dir.path, pieces, 6, cased, &err), "%s", err.text);
        ck_assert_msg(!tokenizer_open(&tokenizer, dir.path, 16, &err), "%s", err.text);
        arena_init(&arena);
        ck_assert_int_eq(tokenizer_encode(tokenizer, 0, "VDD", 3, NULL, &arena, &encoding, &err),
                         ERR_OK);
        ck_assert_int_eq(encoding.ids[1], cased ? 5 : 1);
        arena_deinit(&arena);
        tokenizer_close(tokenizer);
    }
    struct json_t *map = json_of(dir.path, "special_tokens_map.json");
    ck_assert_str_eq(doc_as_string(doc_member(map, "mask_token")), "[MASK]");
    doc_free(map);
    tempdir_close(&dir);
}
END_TEST

SUITE("vocab_trim", vocab_trim_leaves_the_logits_of_its_texts_as_they_were,
      vocab_trim_moves_rows_and_ids_together, vocab_trim_does_not_write_over_the_model,
      vocab_trim_refuses_too_few_rows_and_no_embedding,
      vocab_trim_takes_what_stays_true_and_drops_what_does_not,
      vocab_files_of_a_new_tokenizer_are_read_as_meant)
