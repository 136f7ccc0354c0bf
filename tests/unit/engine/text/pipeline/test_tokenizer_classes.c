/* test_tokenizer_classes.c - each class of tokenizer, each set of files and each member that
 * changes ids: what transformers answers, or a refusal by name (tests/reference/
 * make_tokenizer_classes.py). ATTND_TELL in the environment prints each refusal. */
#include "engine/base/doc.h"
#include "tests/unit/engine/text/fixture.h"

#include <stdlib.h>

/* Refused: classes that are not served, cls and sep tokens that no vocabulary has, ids that the
 * reference changes, split_special_tokens and from_slow. Alone: what transformers 5 writes, its
 * TokenizersBackend and its list of extra_special_tokens. */
enum { FILE_BYTES_MAX = 1 << 24, TOKENS_MAX = 512, REFUSED_MAX = 198, ALONE = 28 };

static const char data_path[] = "tests/data/tokenizer/classes.json";

struct comparison {
    const struct json_t *root;
    unsigned same, refused, alone, wrong; /* cases */
};

static const char *text_at(const struct comparison *all, const char *list, unsigned long number)
{
    const char *text = doc_as_string(doc_array_item(doc_member(all->root, list), number));
    ck_assert_ptr_nonnull(text);
    return text;
}

/* ---- files ---- */

/* "@n@" stands for fragment n. */
static void expand(FILE *file, const struct comparison *all, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        char *end = NULL;
        unsigned long number = *at == '@' ? strtoul(at + 1, &end, 10) : 0;
        if (end != NULL && end > at + 1 && *end == '@') {
            fputs(text_at(all, "fragments", number), file);
            at = end + 1;
        } else {
            fputc(*at++, file);
        }
    }
}

static const char *name_of(char letter)
{
    static const char *const names[] = {
        ['j'] = "tokenizer.json",    ['c'] = "tokenizer_config.json",
        ['m'] = "config.json",       ['s'] = "special_tokens_map.json",
        ['a'] = "added_tokens.json", ['w'] = "vocab.txt",
        ['v'] = "vocab.json",        ['b'] = "merges.txt"};
    return names[(unsigned char)letter];
}

static void write_file(const struct comparison *all, const struct tempdir *dir, char letter,
                       unsigned long number)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(file);
    expand(file, all, text_at(all, "contents", number));
    ck_assert_int_eq(fclose(file), 0);
    tempdir_write(dir, name_of(letter), text, len);
    free(text);
}

/* Writes the files of "j3 c7 =5"; returns the text behind "=". */
static const char *write_files(const struct comparison *all, const struct tempdir *dir,
                               const char *row)
{
    while (*row != '=') {
        char *end;
        char letter = *row;
        write_file(all, dir, letter, strtoul(row + 1, &end, 10));
        row = end + 1;
    }
    return row + 1;
}

/* ---- encodings ---- */

static const char *print_pair(const struct encoding *encoding, struct arena *arena)
{
    struct encoding whole = *encoding;
    whole.truncated = false;
    const char *text = fixture_print(&whole, arena);
    char *types = arena_alloc(arena, encoding->count + 1);
    ck_assert_ptr_nonnull(types);
    for (unsigned i = 0; i < encoding->count; i++)
        types[i] = encoding->types != NULL ? (char)('0' + encoding->types[i]) : '0';
    types[encoding->count] = '\0';
    return strchr(types, '1') != NULL ? arena_format(arena, "%s types %s", text, types) : text;
}

static bool is_same(const struct comparison *all, const struct tokenizer *tokenizer, size_t which,
                    const char *expected, const char **found, struct arena *arena)
{
    const struct json_t *texts = doc_member(all->root, "texts");
    const struct json_t *pairs = doc_member(all->root, "pairs");
    size_t singles = doc_array_count(texts);
    const struct json_t *pair = which >= singles ? doc_array_item(pairs, which - singles) : NULL;
    const char *text =
        doc_as_string(pair != NULL ? doc_array_item(pair, 0) : doc_array_item(texts, which));
    const char *second = pair != NULL ? doc_as_string(doc_array_item(pair, 1)) : "";
    struct err err = {0};
    struct encoding encoding;
    if (tokenizer_encode_pair(tokenizer, 0, text, strlen(text), second, strlen(second), NULL, arena,
                              &encoding, &err)) {
        *found = arena_format(arena, "%s", err.text);
        return err.code == ERR_UNSUPPORTED; /* a limit without room for two texts */
    }
    *found = print_pair(&encoding, arena);
    return strcmp(*found, expected) == 0;
}

static bool are_same(const struct comparison *all, const struct tokenizer *tokenizer,
                     const char *out, const char **found, const char **wanted, struct arena *arena)
{
    char *end;
    for (size_t i = 0; *out != '\0'; i++, out = *end == ' ' ? end + 1 : end) {
        *wanted = text_at(all, "encodings", strtoul(out, &end, 10));
        if (!is_same(all, tokenizer, i, *wanted, found, arena))
            return false;
    }
    return true;
}

/* ---- cases ---- */

static void tell(const struct comparison *all, const char *what, const char *row, const char *text)
{
    fprintf(stderr, "%s: %s: %s\n", what, row, text);
    while (*row != '=') {
        char *end;
        char letter = *row;
        const char *content = text_at(all, "contents", strtoul(row + 1, &end, 10));
        fprintf(stderr, "  %s: %.200s\n", name_of(letter), content);
        row = end + 1;
    }
}

static void run_case(struct comparison *all, const char *row, bool tells)
{
    struct tempdir dir;
    struct tokenizer *tokenizer;
    struct arena arena;
    struct err err = {0};
    const char *found = "", *wanted = "";
    tempdir_open(&dir);
    const char *out = write_files(all, &dir, row);
    bool is_read = *out != '-';
    tokenizer_open(&tokenizer, dir.path, TOKENS_MAX, &err);
    tempdir_close(&dir);
    arena_init(&arena);
    if (err.code != ERR_OK) {
        all->refused += is_read;
        if (tells && is_read)
            tell(all, "refused", row, err.text);
    } else if (!is_read) {
        all->alone++;
        if (tells)
            tell(all, "alone", row, "");
    } else if (are_same(all, tokenizer, text_at(all, "outs", strtoul(out, NULL, 10)), &found,
                        &wanted, &arena)) {
        all->same++;
    } else {
        all->wrong++;
        tell(all, "wrong", row, arena_format(&arena, "%s\n  not %s", found, wanted));
    }
    arena_deinit(&arena);
    tokenizer_close(tokenizer);
}

START_TEST(tokenizer_classes_answer_as_transformers_or_refuse)
{
    struct err err = {0};
    struct json_t *root;
    ck_assert_msg(!doc_parse_file(&root, data_path, FILE_BYTES_MAX, &err), "%s", err.text);
    struct comparison all = {.root = root};
    size_t count = doc_array_count(doc_member(root, "cases"));
    for (size_t i = 0; i < count; i++)
        run_case(&all, text_at(&all, "cases", i), getenv("ATTND_TELL") != NULL);
    if (getenv("ATTND_TELL") != NULL)
        fprintf(stderr, "%zu cases: %u same, %u refused, %u alone, %u wrong\n", count, all.same,
                all.refused, all.alone, all.wrong);
    ck_assert_uint_eq(all.wrong, 0);
    ck_assert_uint_le(all.refused, REFUSED_MAX);
    ck_assert_uint_eq(all.alone, ALONE);
    ck_assert_uint_gt(all.same, 2500);
    doc_free(root);
}
END_TEST

SUITE("tokenizer_classes", tokenizer_classes_answer_as_transformers_or_refuse)
