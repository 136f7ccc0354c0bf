/* vocab_files.h: the files of a new tokenizer, to the byte. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "learn/train/checkpoint/vocab_files.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 8192 }; /* of the writer: lines that fill it, and one byte more */

static struct tempdir dir;
static struct err err;
static char path[128];

static void open_dir(void)
{
    tempdir_open(&dir);
    err = (struct err){0};
}

static const char *path_of(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    return path;
}

static unsigned files(void)
{
    unsigned count = 0;
    DIR *folder = opendir(dir.path);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(folder);
    return count;
}

/* Pieces of these lengths, written and read back. */
static void expect_pieces(const size_t *lengths, size_t count)
{
    char *pieces[4], *bytes, *want = calloc(4, ROOM + 1);
    size_t len, used = 0;
    for (size_t i = 0; i < count; i++) {
        pieces[i] = malloc(lengths[i] + 1);
        memset(pieces[i], 'a' + (int)i, lengths[i]);
        pieces[i][lengths[i]] = '\0';
        used += (size_t)sprintf(want + used, "%s\n", pieces[i]);
    }
    open_dir();
    ck_assert_msg(!vocab_files_write_pieces(dir.path, (const char *const *)pieces, count, &err),
                  "%s", err.text);
    ck_assert(!file_read(&bytes, &len, path_of("vocab.txt"), 1 << 20, &err));
    ck_assert_uint_eq(len, used);
    ck_assert_mem_eq(bytes, want, len);
    ck_assert_uint_eq(files(), 1);
    tempdir_close(&dir);
    for (size_t i = 0; i < count; i++)
        free(pieces[i]);
    free(bytes);
    free(want);
}

START_TEST(pieces_are_lines_however_long)
{
    expect_pieces((size_t[]){3, 1, 2}, 3);
    expect_pieces((size_t[]){ROOM - 1, 1, 4}, 3); /* the first fills the room alone */
    expect_pieces((size_t[]){ROOM - 5, 3, 7}, 3); /* two fill it together */
    expect_pieces((size_t[]){ROOM - 5, 4, 7}, 3); /* the second no longer fits */
    expect_pieces((size_t[]){ROOM - 2, 0, 1, ROOM - 1}, 4);
    expect_pieces(NULL, 0);
}
END_TEST

START_TEST(a_piece_that_is_no_line_leaves_nothing_behind)
{
    char *piece = malloc(ROOM + 1), want[256];
    memset(piece, 'x', ROOM);
    piece[ROOM] = '\0';
    open_dir();
    const char *const pieces[] = {"a", piece};
    ck_assert_int_eq(vocab_files_write_pieces(dir.path, pieces, 2, &err), ERR_UNSUPPORTED);
    snprintf(want, sizeof want, "%s: piece 1 has 8192 bytes", path_of("vocab.txt"));
    ck_assert_str_eq(err.text, want);
    ck_assert_uint_eq(files(), 0);
    tempdir_close(&dir);
    free(piece);
}
END_TEST

static void expect_text(const struct json_t *root, const char *key, const char *text)
{
    ck_assert_str_eq(doc_as_string(doc_member(root, key)), text);
}

static void expect_specials(const struct json_t *root)
{
    expect_text(root, "cls_token", "[CLS]");
    expect_text(root, "mask_token", "[MASK]");
    expect_text(root, "pad_token", "[PAD]");
    expect_text(root, "sep_token", "[SEP]");
    expect_text(root, "unk_token", "[UNK]");
}

static void expect_flag(const struct json_t *root, const char *key, bool value)
{
    bool found = !value;
    ck_assert(!doc_get_bool(root, "$", key, &found, &err) && found == value);
}

/* Files of an older tokenizer that would be read first are removed. */
START_TEST(a_new_tokenizer_is_its_three_files)
{
    for (int cased = 0; cased < 2; cased++) {
        static const char *const pieces[] = {"[PAD]", "a"};
        struct json_t *root;
        char new[96];
        open_dir();
        snprintf(new, sizeof new, "%s", dir.path);
        tempdir_write(&dir, "tokenizer.json", "{}", 2);
        tempdir_write(&dir, "added_tokens.json", "{}", 2);
        tempdir_write(&dir, "mine", "x", 1);
        ck_assert_msg(!vocab_files_write(new, pieces, 2, cased, &err), "%s", err.text);
        ck_assert_uint_eq(files(), 4);
        ck_assert(!doc_parse_file(&root, path_of("tokenizer_config.json"), 1 << 20, &err));
        expect_specials(root);
        expect_text(root, "tokenizer_class", "BertTokenizer");
        expect_flag(root, "do_lower_case", !cased);
        expect_flag(root, "strip_accents", !cased);
        expect_flag(root, "tokenize_chinese_chars", true);
        ck_assert_uint_eq(doc_object_count(root), 9);
        doc_free(root);
        ck_assert(!doc_parse_file(&root, path_of("special_tokens_map.json"), 1 << 20, &err));
        expect_specials(root);
        ck_assert_uint_eq(doc_object_count(root), 5);
        doc_free(root);
        tempdir_close(&dir);
    }
}
END_TEST

/* The files come in the order in which they are written: no file follows the one that failed. */
START_TEST(vocab_files_name_the_path_that_cannot_be_written)
{
    static const struct {
        const char *name, *text;
        unsigned files;
    } rows[] = {{"tokenizer.json", "cannot be removed: Is a directory", 1},
                {"added_tokens.json", "cannot be removed: Is a directory", 1},
                {"tokenizer_config.json", "", 1},
                {"special_tokens_map.json", "", 2},
                {"vocab.txt", "", 3}};
    static const char *const pieces[] = {"a"};
    for (unsigned i = 0; i < 5; i++) {
        char want[256];
        open_dir();
        ck_assert_int_eq(mkdir(path_of(rows[i].name), 0777), 0);
        ck_assert_int_eq(vocab_files_write(dir.path, pieces, 1, false, &err), ERR_IO);
        snprintf(want, sizeof want, "%s: %s", path_of(rows[i].name), rows[i].text);
        ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
        ck_assert_uint_eq(files(), rows[i].files);
        ck_assert_int_eq(rmdir(path_of(rows[i].name)), 0);
        tempdir_close(&dir);
    }
    err = (struct err){0};
    ck_assert_int_eq(vocab_files_write("/no/where", pieces, 1, false, &err), ERR_IO);
    ck_assert_str_eq(err.text, "/no/where: cannot be made a directory: No such file or directory");
}
END_TEST

START_TEST(vocab_files_refuse_a_path_that_is_too_long)
{
    static char deep[PATH_MAX];
    static const char *const pieces[] = {"a"};
    memset(deep, 'd', PATH_MAX - 10); /* room for "/x" and the like, not for "/vocab.txt" */
    err = (struct err){0};
    ck_assert_int_eq(vocab_files_write_pieces(deep, pieces, 1, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "the directory's path is too long"));
}
END_TEST

SUITE("vocab_files", pieces_are_lines_however_long, a_piece_that_is_no_line_leaves_nothing_behind,
      a_new_tokenizer_is_its_three_files, vocab_files_name_the_path_that_cannot_be_written,
      vocab_files_refuse_a_path_that_is_too_long)
