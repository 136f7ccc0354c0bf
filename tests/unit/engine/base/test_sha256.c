#include "engine/base/sha256.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OF_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

START_TEST(sha256_agrees_with_the_standard)
{
    char out[SHA256_HEX_BYTES];
    sha256_hex("abc", 3, out);
    ck_assert_str_eq(out, OF_ABC);
    sha256_hex("", 0, out);
    ck_assert_str_eq(out, OF_EMPTY);
    sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, out);
    ck_assert_str_eq(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}
END_TEST

/* Files longer than a piece, whose border is not a piece's. */
START_TEST(sha256_hashes_files_end_to_end)
{
    enum { HALF = 1500000 };
    struct tempdir dir;
    struct err err = {0};
    char path[2][128], of_files[SHA256_HEX_BYTES], of_bytes[SHA256_HEX_BYTES];
    char *bytes = malloc(2 * HALF);
    for (int i = 0; i < 2 * HALF; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    tempdir_open(&dir);
    snprintf(path[0], sizeof path[0], "%s/one", dir.path);
    snprintf(path[1], sizeof path[1], "%s/two", dir.path);
    tempdir_write(&dir, "one", bytes, HALF);
    tempdir_write(&dir, "two", bytes + HALF, HALF);
    sha256_hex(bytes, 2 * HALF, of_bytes);
    const char *const paths[] = {path[0], path[1]};
    ck_assert_int_eq(sha256_files(paths, 2, NULL, of_files, &err), ERR_OK);
    ck_assert_str_eq(of_files, of_bytes);
    ck_assert_int_eq(sha256_files(paths, 0, NULL, of_files, &err), ERR_OK);
    ck_assert_str_eq(of_files, OF_EMPTY);
    tempdir_close(&dir);
    free(bytes);
}
END_TEST

START_TEST(sha256_hashes_pieces_as_the_whole)
{
    struct sha256_pieces pieces;
    char whole[SHA256_HEX_BYTES], of_pieces[SHA256_HEX_BYTES];
    const char text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha256_hex(text, sizeof text, whole);
    sha256_pieces_begin(&pieces);
    for (size_t at = 0, len; at < sizeof text; at += len) {
        len = sizeof text - at < 11 ? sizeof text - at : 11;
        sha256_pieces_add(&pieces, text + at, len);
    }
    sha256_pieces_end(&pieces, of_pieces);
    ck_assert_str_eq(of_pieces, whole);
}
END_TEST

START_TEST(sha256_stops_at_an_interrupt)
{
    const char *const paths[] = {"/proc/self/status"};
    atomic_bool stop = true;
    struct err err = {0};
    char out[SHA256_HEX_BYTES] = "before";
    ck_assert_int_eq(sha256_files(paths, 1, &stop, out, &err), ERR_NOT_READY);
    ck_assert_str_eq(out, "");
    stop = false;
    err = (struct err){0};
    ck_assert_int_eq(sha256_files(paths, 1, &stop, out, &err), ERR_OK);
    ck_assert_uint_eq(strlen(out), 64);
}
END_TEST

START_TEST(sha256_names_the_file_but_not_its_directory)
{
    const char *const missing[] = {"/nonexistent/weights"};
    const char *const directory[] = {"/tmp"};
    struct err err = {0}, read_err = {0};
    char out[SHA256_HEX_BYTES];
    ck_assert_int_eq(sha256_files(missing, 1, NULL, out, &err), ERR_IO);
    ck_assert_str_eq(err.text, "weights: cannot be opened: No such file or directory");
    ck_assert_str_eq(out, "");
    ck_assert_int_eq(sha256_files(directory, 1, NULL, out, &read_err), ERR_IO);
    ck_assert_str_eq(read_err.text, "tmp: cannot be read: Is a directory");
}
END_TEST

SUITE("sha256", sha256_agrees_with_the_standard, sha256_hashes_files_end_to_end,
      sha256_hashes_pieces_as_the_whole, sha256_stops_at_an_interrupt,
      sha256_names_the_file_but_not_its_directory)
