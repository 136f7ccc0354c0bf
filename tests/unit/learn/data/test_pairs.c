/* Pairs of texts in a data set: read from each form, written to a split, told apart by their
 * digests, and prepared as serving does, which is the oracle. */
#include "engine/base/file.h"
#include "learn/data/dataset.h"
#include "learn/data/digest.h"
#include "learn/data/samples_form.h"
#include "tests/support/samples_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BERT GOLDEN "bert-5"

static struct tempdir dir;
static struct dataset dataset;
static struct err err;
static char path[128];

static enum err_code read_list(const char *name, const char *text)
{
    err = (struct err){0};
    tempdir_open(&dir);
    tempdir_write(&dir, name, text, strlen(text));
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    return dataset_open(&dataset, path, &(struct dataset_options){.kind = ENGINE_TEXT}, &err);
}

static void drop(void)
{
    dataset_close(&dataset);
    tempdir_close(&dir);
}

static void expect_pair(size_t item, const char *pair)
{
    const struct dataset_item *found = &dataset.items[item];
    ck_assert_uint_eq(found->pair_len, pair == NULL ? 0 : strlen(pair));
    ck_assert((found->pair == NULL) == (pair == NULL));
    if (pair != NULL)
        ck_assert_mem_eq(found->pair, pair, found->pair_len);
}

START_TEST(dataset_reads_pairs_from_jsonl)
{
    ck_assert(!read_list("a.jsonl", "{\"text\":\"a\",\"text_pair\":\"b c\",\"label\":\"x\"}\n"
                                    "{\"text\":\"a\",\"label\":\"x\"}\n"
                                    "{\"text\":\"a\",\"text_pair\":\"\",\"label\":\"x\"}\n"
                                    "{\"text\":\"\",\"text_pair\":\"d\",\"label\":\"x\"}\n"));
    expect_pair(0, "b c");
    expect_pair(1, NULL);
    expect_pair(2, NULL);
    expect_pair(3, "d");
    drop();
    ck_assert_int_eq(read_list("a.jsonl", "{\"text\":\"a\",\"label\":\"x\"}\n"
                                          "{\"text\":\"a\",\"text_pair\":[],\"label\":\"x\"}\n"),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text + strlen(path),
                     ": line 2: member 'text_pair': expected a string, found an array");
    drop();
}
END_TEST

START_TEST(dataset_reads_pairs_from_csv)
{
    ck_assert(!read_list("a.csv", "label,text_pair,text\nx,b c,a\ny,,a\nz,\"d\ne\",\n"));
    expect_pair(0, "b c");
    expect_pair(1, NULL);
    expect_pair(2, "d\ne");
    drop();
    ck_assert_int_eq(read_list("a.csv", "text,label,text_pair,text_pair\na,x,b,c\n"), ERR_UNUSABLE);
    ck_assert_str_eq(err.text + strlen(path), ": line 1: two columns are named 'text_pair'");
    drop();
}
END_TEST

START_TEST(a_split_keeps_the_second_texts_that_it_holds_back)
{
    struct dataset_item items[] = {{.name = "line 1",
                                    .input = "a",
                                    .input_len = 1,
                                    .pair = "b\"",
                                    .pair_len = 2,
                                    .label = "x"},
                                   {.name = "line 2", .input = "a", .input_len = 1, .label = "x"},
                                   {.name = "line 3",
                                    .input = "a",
                                    .input_len = 1,
                                    .pair = "\xFF",
                                    .pair_len = 1,
                                    .label = "x"}};
    const enum split_part parts[] = {SPLIT_VALIDATION, SPLIT_VALIDATION, SPLIT_VALIDATION};
    const struct dataset all = {.kind = ENGINE_TEXT, .items = items, .count = 3};
    ck_assert(read_list("a.jsonl", "") != ERR_OK);
    dataset_close(&dataset);
    err = (struct err){0};
    ck_assert(!split_write(path, &all, parts, &err));
    ck_assert_msg(
        !dataset_open(&dataset, path, &(struct dataset_options){.kind = ENGINE_TEXT}, &err), "%s",
        err.text);
    ck_assert_uint_eq(dataset.count, 2); /* JSON cannot hold the third */
    expect_pair(0, "b\"");
    expect_pair(1, NULL);
    drop();
}
END_TEST

START_TEST(digests_tell_pairs_from_their_texts)
{
    const uint64_t alone = digest_of("a b", 3);
    ck_assert_uint_eq(digest_of_pair("a b", 3, NULL, 0), alone);
    ck_assert_uint_ne(digest_of_pair("a", 1, "b", 1), digest_of_pair("b", 1, "a", 1));
    ck_assert_uint_ne(digest_of_pair("a b", 3, "c", 1), alone);
    ck_assert_uint_ne(digest_of_pair("a", 1, "b", 1), digest_of_pair("ab", 2, NULL, 0));
}
END_TEST

/* ---- samples ---- */

/* Words of one letter are a piece each: sides of every length around the limits. */
static size_t write_sides(char *text, size_t size, unsigned first, unsigned second)
{
    size_t len = (size_t)snprintf(text, size, "{\"label\":\"x\",\"text\":\"");
    for (unsigned i = 0; i < first; i++)
        len += (size_t)snprintf(text + len, size - len, "%c ", 'a' + (int)(i % 26));
    len += (size_t)snprintf(text + len, size - len, "\",\"text_pair\":\"");
    for (unsigned i = 0; i < second; i++)
        len += (size_t)snprintf(text + len, size - len, "%c ", 'z' - (int)(i % 26));
    return len + (size_t)snprintf(text + len, size - len, "\"}\n");
}

static const unsigned sides[][2] = {{0, 3},   {3, 0},   {1, 1},     {4, 5},     {5, 4},    {9, 9},
                                    {2, 40},  {40, 2},  {39, 40},   {40, 39},   {60, 61},  {61, 60},
                                    {1, 700}, {700, 1}, {600, 600}, {601, 600}, {600, 601}};
enum { SIDES = sizeof sides / sizeof sides[0] };

static void open_sides(struct samples_fixture *fixture, const char *model)
{
    static char text[64 * 1024];
    size_t len = 0;
    for (unsigned i = 0; i < SIDES; i++)
        len += write_sides(text + len, sizeof text - len, sides[i][0], sides[i][1]);
    tempdir_open(&dir);
    tempdir_write(&dir, "a.jsonl", text, len);
    snprintf(path, sizeof path, "%s/a.jsonl", dir.path);
    samples_fixture_open(fixture, model, path);
}

static void close_sides(struct samples_fixture *fixture)
{
    samples_fixture_close(fixture);
    tempdir_close(&dir);
}

static void expect_same(const struct engine_input *ours, const struct engine_input *served)
{
    ck_assert_uint_eq(ours->tokens, served->tokens);
    ck_assert_int_eq(ours->truncated, served->truncated);
    ck_assert_uint_eq(ours->pair_at, served->pair_at);
    ck_assert_mem_eq(ours->ids, served->ids, ours->tokens * sizeof *ours->ids);
    ck_assert((ours->types == NULL) == (served->types == NULL));
    if (ours->types != NULL)
        ck_assert_mem_eq(ours->types, served->types, ours->tokens);
}

START_TEST(samples_prepare_pairs_as_serving_does)
{
    static const char *const models[] = {BERT, GOLDEN "xlm-roberta-1", GOLDEN "roberta-1",
                                         GOLDEN "distilbert-0", GOLDEN "mpnet-0"};
    for (unsigned m = 0; m < sizeof models / sizeof models[0]; m++) {
        struct samples_fixture fixture;
        open_sides(&fixture, models[m]);
        for (unsigned i = 0; i < SIDES; i++) {
            const struct dataset_item *item = &fixture.dataset.items[i];
            const struct engine_source source = {.kind = ENGINE_TEXT,
                                                 .bytes = item->input,
                                                 .len = item->input_len,
                                                 .pair = item->pair,
                                                 .pair_len = item->pair_len};
            const struct engine_input ours =
                samples_fixture_input(&fixture, i, &(struct samples_view){0}, NULL);
            struct engine_input served;
            ck_assert(!engine_prepare(fixture.model, &source, NULL, &fixture.arena, &served,
                                      &fixture.err));
            expect_same(&ours, &served);
        }
        close_sides(&fixture);
    }
}
END_TEST

START_TEST(samples_cut_pairs_to_the_tokens_of_a_view)
{
    struct samples_fixture fixture;
    open_sides(&fixture, BERT);
    const struct tokenizer *tokenizer = fixture.samples->pipeline.tokenizer;
    for (unsigned tokens = 3; tokens < 70; tokens++) {
        const struct samples_view view = {.tokens_max = tokens};
        unsigned longest = 0;
        for (unsigned i = 0; i < SIDES; i++) {
            const struct dataset_item *item = &fixture.dataset.items[i];
            const struct engine_input ours = samples_fixture_input(&fixture, i, &view, NULL);
            struct encoding cut;
            ck_assert(
                !tokenizer_encode_pair(tokenizer, item->pair != NULL && tokens < 5 ? 5 : tokens,
                                       item->input, item->input_len, item->pair, item->pair_len,
                                       NULL, &fixture.arena, &cut, &fixture.err));
            const struct engine_input served = windows_whole(&cut);
            expect_same(&ours, &served);
            longest = ours.tokens > longest ? ours.tokens : longest;
        }
        ck_assert_uint_eq(samples_tokens_max(fixture.samples, &view), longest);
    }
    close_sides(&fixture);
}
END_TEST

START_TEST(samples_drop_words_of_both_texts_and_no_special_token)
{
    struct samples_fixture fixture;
    open_sides(&fixture, BERT);
    struct rng rng = rng_for(1, 2, 3);
    const struct samples_view all = {.word_dropout = 1};
    const struct engine_input plain =
        samples_fixture_input(&fixture, 3, &(struct samples_view){0}, NULL);
    const struct engine_input input = samples_fixture_input(&fixture, 3, &all, &rng);
    ck_assert_uint_eq(input.tokens, 4 + 5 + 3);
    for (unsigned t = 0; t < input.tokens; t++) {
        const bool is_special = t == 0 || t == 5 || t == input.tokens - 1;
        ck_assert_int_eq(input.ids[t] == plain.ids[t], is_special);
        ck_assert_uint_eq(input.types[t], t > 5);
    }
    close_sides(&fixture);
}
END_TEST

START_TEST(a_model_of_one_text_refuses_a_data_set_with_pairs)
{
    static const char config[] = "{\"model_type\":\"bert\",\"hidden_size\":16,"
                                 "\"num_hidden_layers\":1,\"num_attention_heads\":2,"
                                 "\"intermediate_size\":32,\"vocab_size\":6,"
                                 "\"max_position_embeddings\":16,\"type_vocab_size\":1}";
    struct arena arena;
    struct spec spec;
    struct samples *samples;
    ck_assert(!read_list("a.jsonl", "{\"text\":\"a\",\"label\":\"x\"}\n"
                                    "{\"text\":\"a\",\"text_pair\":\"a\",\"label\":\"x\"}\n"));
    tempdir_write(&dir, "config.json", config, strlen(config));
    tempdir_write(&dir, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n", 33);
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, dir.path, &arena, &err), "%s", err.text);
    ck_assert_int_eq(samples_open(&samples, &dataset, &spec, dir.path,
                                  &(struct samples_options){.threads = 1}, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "line 2: it has a second text, but the model reads one text");
    arena_deinit(&arena);
    drop();
}
END_TEST

SUITE("data_pairs", dataset_reads_pairs_from_jsonl, dataset_reads_pairs_from_csv,
      a_split_keeps_the_second_texts_that_it_holds_back, digests_tell_pairs_from_their_texts,
      samples_prepare_pairs_as_serving_does, samples_cut_pairs_to_the_tokens_of_a_view,
      samples_drop_words_of_both_texts_and_no_special_token,
      a_model_of_one_text_refuses_a_data_set_with_pairs)
