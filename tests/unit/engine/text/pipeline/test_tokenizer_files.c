/* vocab.json and merges.txt: the tokenizer that they stand for, and what they must hold. */
#include "engine/base/doc.h"
#include "engine/base/doc_string.h"
#include "engine/base/file.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>

static const char source[] = "tests/data/golden/roberta-1";
static const char config_path[] = "tests/data/golden/roberta-1/tokenizer_config.json";

enum { BYTES_MAX = 1 << 24 };

/* ---- the files of a checkpoint, in their older form ---- */

static enum err_code write_piece(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    FILE *file = context;
    double id;
    (void)err;
    ck_assert(doc_as_number(value, &id));
    fputs(ftell(file) > 1 ? ", " : "", file);
    doc_string_write(file, key, strlen(key));
    fprintf(file, ": %.0f", id);
    return ERR_OK;
}

static void write_vocab(const struct tempdir *dir, const struct json_t *model)
{
    char *text;
    size_t len;
    struct err err = {0};
    FILE *file = open_memstream(&text, &len);
    fputc('{', file);
    doc_each_member(doc_member(model, "vocab"), write_piece, file, &err);
    fputc('}', file);
    fclose(file);
    tempdir_write(dir, "vocab.json", text, len);
    free(text);
}

static void write_merges(const struct tempdir *dir, const struct json_t *model)
{
    char *text;
    size_t len;
    const struct json_t *merges = doc_member(model, "merges");
    FILE *file = open_memstream(&text, &len);
    fprintf(file, "#version: 0.2\n");
    for (size_t i = 0; i < doc_array_count(merges); i++) {
        const struct json_t *pair = doc_array_item(merges, i);
        fprintf(file, "%s %s\r\n", doc_as_string(doc_array_item(pair, 0)),
                doc_as_string(doc_array_item(pair, 1)));
    }
    fclose(file);
    tempdir_write(dir, "merges.txt", text, len);
    free(text);
}

static struct tokenizer *open_older(bool has_config)
{
    struct err err = {0};
    struct tempdir dir;
    struct json_t *root;
    struct tokenizer *out;
    char path[PATH_MAX], *config;
    size_t len;
    tempdir_open(&dir);
    ck_assert(!file_path(path, source, "tokenizer.json", &err));
    ck_assert(!doc_parse_file(&root, path, BYTES_MAX, &err));
    write_vocab(&dir, doc_member(root, "model"));
    write_merges(&dir, doc_member(root, "model"));
    ck_assert(!file_read(&config, &len, config_path, BYTES_MAX, &err));
    if (has_config)
        tempdir_write(&dir, "tokenizer_config.json", config, len);
    ck_assert_msg(!tokenizer_open(&out, dir.path, 512, &err), "%s", err.text);
    free(config);
    doc_free(root);
    tempdir_close(&dir);
    return out;
}

static void check_same(const struct tokenizer *a, const struct tokenizer *b, const char *text)
{
    struct arena arena;
    struct err err = {0};
    struct encoding encoding;
    arena_init(&arena);
    ck_assert(!tokenizer_encode(a, 0, text, strlen(text), NULL, &arena, &encoding, &err));
    fixture_check(b, text, fixture_print(&encoding, &arena));
    arena_deinit(&arena);
}

START_TEST(the_older_files_mean_what_tokenizer_json_says)
{
    static const char *const texts[] = {"KASAN: slab-out-of-bounds in it's 0x1f",
                                        "a <mask> b<s></s>", "  \xc3\xa9t\xc3\xa9 \xe4\xb8\xad\n\n",
                                        "<unk><pad> x"};
    struct err err = {0};
    struct tokenizer *whole;
    ck_assert(!tokenizer_open(&whole, source, 512, &err));
    for (int has_config = 0; has_config < 2; has_config++) {
        struct tokenizer *older = open_older(has_config);
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
            check_same(whole, older, texts[i]);
        tokenizer_close(older);
    }
    tokenizer_close(whole);
}
END_TEST

/* ---- what they must hold ---- */

static void refuse(const char *vocab, const char *merges, const char *config, const char *text)
{
    struct err err = {0};
    struct tempdir dir;
    struct tokenizer *out;
    fixture_write(&dir, NULL, NULL, config);
    tempdir_write(&dir, "vocab.json", vocab, strlen(vocab));
    tempdir_write(&dir, "merges.txt", merges, strlen(merges));
    ck_assert(tokenizer_open(&out, dir.path, 512, &err) != ERR_OK);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    tempdir_close(&dir);
}

#define WORDS "{\"<s>\": 0, \"</s>\": 2, \"a\": 3}"

START_TEST(tokenizer_files_that_are_no_object_are_not_taken_for_empty_ones)
{
    static const char *const names[] = {"tokenizer_config.json", "special_tokens_map.json",
                                        "added_tokens.json", "config.json", "tokenizer.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err err = {0};
        struct tempdir dir;
        struct tokenizer *out;
        char text[128];
        fixture_write(&dir, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n", NULL, NULL);
        tempdir_write(&dir, names[i], "[]", 2);
        snprintf(text, sizeof text, "%s: expected an object, found an array", names[i]);
        ck_assert(tokenizer_open(&out, dir.path, 512, &err) != ERR_OK);
        ck_assert_str_eq(err.text, text);
        tempdir_close(&dir);
    }
}
END_TEST

START_TEST(tokenizer_files_name_the_missing_part_of_older_files)
{
    refuse("[", "", NULL, "vocab.json: ");
    refuse("{\"<s>\": \"0\"}", "", NULL, "vocab.json: an id is a string, not a whole number");
    refuse("{\"<s>\": 0, \"</s>\": 2, \"a\": 1.5}", "", NULL, "vocab.json: an id is a number");
    refuse("{\"<s>\": 0, \"</s>\": 2, \"a\": -1}", "", NULL, "vocab.json: an id is a number");
    refuse(WORDS, "#version\na b\n", NULL, "$.model");
    refuse(WORDS, "#version\na\n", NULL, "$.model");
    refuse(WORDS, "#version\n\xff\n", NULL, "merges.txt: ");
    refuse(WORDS, "", "{\"tokenizer_class\": \"CLIPTokenizer\"}",
           "tokenizer.json: missing, which CLIPTokenizer needs: with transformers, "
           "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) makes one");
    refuse(WORDS, "", NULL,
           "vocab.json and merges.txt, as a tokenizer.json: $.model: without an unk_token every "
           "byte needs a piece of its own");
}
END_TEST

SUITE("tokenizer_files", the_older_files_mean_what_tokenizer_json_says,
      tokenizer_files_that_are_no_object_are_not_taken_for_empty_ones,
      tokenizer_files_name_the_missing_part_of_older_files)
