/* vocab_trim.h: which tensors lose rows, which ids are moved or removed, and what is said of a
 * model that cannot be trimmed. */
#include "engine/base/doc.h"
#include "engine/format/checkpoint.h"
#include "engine/format/safetensors_write.h"
#include "learn/train/checkpoint/vocab_trim.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECES = 7, KEPT = 4 };

static struct tempdir source, dir;
static struct err err;
static struct vocab_trimmed trimmed;

/* Number k of a tensor is k. */
static const float numbers[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static void put(const struct tempdir *in, const char *name, const char *text)
{
    tempdir_write(in, name, text, strlen(text));
}

static void open_source(const struct tensor_out *tensors, size_t count)
{
    char path[128];
    tempdir_open(&source);
    tempdir_open(&dir);
    err = (struct err){0};
    snprintf(path, sizeof path, "%s/model.safetensors", source.path);
    ck_assert_msg(!safetensors_write(path, tensors, count, "pt", &err), "%s", err.text);
    put(&source, "vocab.txt", "a\n[PAD]\n[UNK]\nb\n[CLS]\n[SEP]\n[MASK]\n");
    put(&source, "config.json", "{}");
}

static void close_source(void)
{
    tempdir_close(&source);
    tempdir_close(&dir);
}

/* Keeps pieces 1, 2, 5 and 6 in `out`. */
static enum err_code trim_to(const char *out)
{
    static const int32_t ids[KEPT] = {1, 2, 5, 6};
    struct vocab_use *use;
    err = (struct err){0};
    ck_assert_msg(!vocab_use_open(&use, source.path, &err), "%s", err.text);
    struct vocab_trim what = {.source_dir = source.path, .use = use, .ids = ids, .count = KEPT};
    ck_assert_int_eq(vocab_trim_write(out, &what, &trimmed, &err), err.code);
    vocab_use_close(use);
    return err.code;
}

static void trim(void)
{
    ck_assert_msg(!trim_to(dir.path), "%s", err.text);
}

static struct json_t *json_of(const char *name)
{
    char path[128];
    struct json_t *root;
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    ck_assert_msg(!doc_parse_file(&root, path, 1 << 20, &err), "%s", err.text);
    return root;
}

static const struct tensor_out embedding = {
    "bert.embeddings.word_embeddings.weight", DTYPE_F32, 2, {PIECES, 2}, numbers};

/* ---- tensors ---- */

/* Rows of `width` numbers, of which the kept ones remain, or all of them. */
static void expect_tensor(const struct checkpoint *checkpoint, const struct tensor_out *was,
                          bool has_pieces)
{
    static const size_t kept[KEPT] = {1, 2, 5, 6};
    const struct tensor_info *info = checkpoint_find(checkpoint, was->name);
    ck_assert_msg(info != NULL, "%s", was->name);
    size_t rows = has_pieces ? KEPT : was->shape[0], width = 1;
    for (unsigned i = 1; i < was->rank; i++)
        width *= was->shape[i];
    ck_assert(info->dtype == was->dtype && info->rank == was->rank);
    ck_assert_msg(info->shape[0] == rows && info->count == rows * width, "%s", was->name);
    for (size_t row = 0; row < rows; row++)
        for (size_t c = 0; c < width; c++) {
            float value;
            size_t at = row * width + c, old = (has_pieces ? kept[row] : row) * width + c;
            ck_assert(!checkpoint_read_f32(checkpoint, info, at, 1, &value, &err));
            ck_assert_float_eq(value, numbers[old]);
        }
}

START_TEST(every_tensor_with_a_row_a_piece_loses_rows)
{
    static const struct tensor_out tensors[] = {
        {"distilbert.embeddings.word_embeddings.weight", DTYPE_F16, 2, {PIECES, 3}, numbers},
        {"cls.predictions.bias", DTYPE_F32, 1, {PIECES}, numbers},
        {"cls.predictions.decoder.weight", DTYPE_F32, 2, {PIECES, 4}, numbers},
        {"cls.predictions.decoder.bias", DTYPE_F16, 1, {PIECES}, numbers},
        {"vocab_projector.weight", DTYPE_F32, 3, {PIECES, 2, 2}, numbers},
        {"x.vocab_projector.bias", DTYPE_F32, 1, {PIECES}, numbers},
        {"word_embeddings.weight_g", DTYPE_F32, 2, {PIECES, 2}, numbers},
        {"predictions.bias", DTYPE_F32, 1, {PIECES}, numbers},
        {"e", DTYPE_F32, 1, {1}, numbers},
    };
    enum { COUNT = sizeof tensors / sizeof *tensors };
    struct checkpoint *checkpoint;
    size_t before = 0, after = 0;
    open_source(tensors, COUNT);
    trim();
    ck_assert(!checkpoint_open(&checkpoint, dir.path, &err));
    ck_assert_uint_eq(checkpoint_count(checkpoint), COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        size_t all = 1;
        for (unsigned d = 0; d < tensors[i].rank; d++)
            all *= tensors[i].shape[d];
        expect_tensor(checkpoint, &tensors[i], i < 6);
        before += all;
        after += i < 6 ? all / PIECES * KEPT : all;
    }
    ck_assert(trimmed.numbers_before == before && trimmed.numbers_after == after);
    checkpoint_close(checkpoint);
    close_source();
}
END_TEST

START_TEST(vocab_trim_refuses_tensors_with_too_few_rows)
{
    struct tensor_out tensors[] = {embedding, {"cls.predictions.bias", DTYPE_F32, 1, {6}, numbers}};
    char want[256];
    open_source(tensors, 2);
    snprintf(want, sizeof want, "%s: tensor 'cls.predictions.bias': 6 rows, but a piece 6 is kept",
             source.path);
    ck_assert_int_eq(trim_to(dir.path), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, want);
    char path[128];
    snprintf(path, sizeof path, "%s/model.safetensors", dir.path);
    ck_assert_int_ne(access(path, F_OK), 0);
    close_source();
    tensors[1].rank = 0;
    open_source(tensors, 2);
    ck_assert_int_eq(trim_to(dir.path), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "0 rows, but a piece 6 is kept"));
    close_source();
    tensors[1].rank = 1;
    tensors[1].shape[0] = 7;
    open_source(tensors, 2);
    trim();
    close_source();
    open_source(tensors + 1, 1);
    snprintf(want, sizeof want, "%s: no tensor is a word embedding", source.path);
    ck_assert_int_eq(trim_to(dir.path), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, want);
    close_source();
}
END_TEST

/* ---- ids ---- */

START_TEST(ids_of_a_configuration_are_moved_or_removed)
{
    static const char *const moved[] = {"pad_token_id", "cls_token_id", "bos_token_id",
                                        "eos_token_id"};
    static const double ids[] = {0, 1, 2, 3};
    static const char *const gone[] = {"sep_token_id", "mask_token_id"};
    open_source(&embedding, 1);
    put(&source, "config.json",
        "{\"pad_token_id\": 1, \"cls_token_id\": 2, \"bos_token_id\": 5, \"eos_token_id\": 6, "
        "\"sep_token_id\": 0, \"mask_token_id\": 7, \"other_token_id\": 5, \"vocab_size\": 7}");
    trim();
    struct json_t *config = json_of("config.json");
    for (unsigned i = 0; i < 4; i++)
        outcome_expect_number(config, moved[i], ids[i]);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_ptr_null(doc_member(config, gone[i]));
    outcome_expect_number(config, "other_token_id", 5);
    outcome_expect_number(config, "vocab_size", KEPT);
    ck_assert_uint_eq(doc_object_count(config), 6);
    doc_free(config);
    close_source();
}
END_TEST

#define JSON                                                                                       \
    "{\"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\": {\"type\": "              \
    "\"BertPreTokenizer\"}, \"post_processor\": {\"type\": \"BertProcessing\", \"cls\": "          \
    "[\"[CLS]\", "                                                                                 \
    "4], \"sep\": [\"[SEP]\", 5]}, \"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0, "    \
    "\"[PAD]\": 1, \"[UNK]\": 2, \"b\": 3, \"[CLS]\": 4, \"[SEP]\": 5, \"[MASK]\": 6}}, "          \
    "\"added_tokens\": []}"

START_TEST(files_that_the_source_lacks_are_not_left_from_before)
{
    static const char *const names[] = {"tokenizer_config.json", "special_tokens_map.json",
                                        "attnd.json", "tokenizer.json", "added_tokens.json"};
    open_source(&embedding, 1);
    for (unsigned i = 0; i < 5; i++)
        put(&dir, names[i], "{\"old\": 1}");
    put(&source, "config.json", "{\"model_type\": \"bert\"}");
    put(&source, "tokenizer.json", JSON); /* would contradict the new vocabulary */
    trim();
    for (unsigned i = 0; i < 5; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir.path, names[i]);
        ck_assert_msg(access(path, F_OK) != 0, "%s", names[i]);
    }
    close_source();
}
END_TEST

START_TEST(tokens_without_a_new_id_change_nothing)
{
    open_source(&embedding, 1);
    put(&source, "tokenizer_config.json", "{\"do_lower_case\": true}");
    trim();
    struct json_t *config = json_of("tokenizer_config.json");
    ck_assert_uint_eq(doc_object_count(config), 1);
    doc_free(config);
    close_source();
}
END_TEST

/* ---- what cannot be ---- */

START_TEST(vocab_trim_names_the_path_that_cannot_be_written)
{
    char path[160], want[256];
    open_source(&embedding, 1);
    snprintf(path, sizeof path, "%s/a/b", dir.path);
    snprintf(want, sizeof want, "%s: cannot be made a directory: No such file or directory", path);
    ck_assert_int_eq(trim_to(path), ERR_IO);
    ck_assert_str_eq(err.text, want);
    snprintf(want, sizeof want, "%s: is the model itself; write to another directory", source.path);
    ck_assert_int_eq(trim_to(source.path), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, want);
    snprintf(path, sizeof path, "%s/config.json", dir.path);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    ck_assert_int_eq(trim_to(dir.path), ERR_IO);
    ck_assert_int_eq(rmdir(path), 0);
    snprintf(path, sizeof path, "%s/vocab.txt", dir.path);
    ck_assert_int_ne(access(path, F_OK), 0);
    put(&source, "model.safetensors", "no");
    ck_assert_int_ne(trim_to(dir.path), ERR_OK);
    ck_assert_int_eq(strncmp(err.text, source.path, strlen(source.path)), 0);
    close_source();
    open_source(&embedding, 1);
    snprintf(path, sizeof path, "%s/attnd.json", dir.path);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    ck_assert_int_eq(trim_to(dir.path), ERR_IO);
    snprintf(want, sizeof want, "%s: cannot be removed: Is a directory", path);
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(rmdir(path), 0);
    close_source();
}
END_TEST

SUITE("vocab_trim_tensors", every_tensor_with_a_row_a_piece_loses_rows,
      vocab_trim_refuses_tensors_with_too_few_rows, ids_of_a_configuration_are_moved_or_removed,
      files_that_the_source_lacks_are_not_left_from_before, tokens_without_a_new_id_change_nothing,
      vocab_trim_names_the_path_that_cannot_be_written)
