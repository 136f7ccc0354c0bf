#include "learn/data/input_list.h"

#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tempdir dir;
static struct input_list list;
static struct err err;

static void setup(void)
{
    tempdir_open(&dir);
    list = (struct input_list){0};
    err = (struct err){0};
}

static void teardown(void)
{
    input_list_close(&list);
    tempdir_close(&dir);
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    return path;
}

static void write_file(const char *name, const char *bytes)
{
    tempdir_write(&dir, name, bytes, strlen(bytes));
}

static void expect(unsigned index, const char *name, bool is_image)
{
    ck_assert_uint_lt(index, list.count);
    ck_assert_str_eq(list.items[index].path, path_of(name));
    ck_assert_str_eq(list.items[index].file, path_of(name));
    ck_assert(list.items[index].is_image == is_image);
    ck_assert_uint_eq(list.items[index].line, 0);
}

START_TEST(a_file_is_known_by_its_first_bytes)
{
    setup();
    write_file("map.txt", "\x89PNG\r\n\x1a\n...");
    write_file("photo", "\xFF\xD8\xFF\xE0");
    write_file("log.png", "FAIL bin 7");
    write_file("short", "\x89PNG");
    ck_assert_int_eq(input_list_add_path(&list, path_of("map.txt"), &err), ERR_OK);
    ck_assert_int_eq(input_list_add_path(&list, path_of("photo"), &err), ERR_OK);
    ck_assert_int_eq(input_list_add_path(&list, path_of("log.png"), &err), ERR_OK);
    ck_assert_int_eq(input_list_add_path(&list, path_of("short"), &err), ERR_OK);
    expect(0, "map.txt", true);
    expect(1, "photo", true);
    expect(2, "log.png", false);
    expect(3, "short", false);
    teardown();
}
END_TEST

START_TEST(a_folder_is_all_that_lies_below_it_by_name)
{
    setup();
    ck_assert_int_eq(mkdir(path_of("b"), 0777), 0);
    ck_assert_int_eq(mkdir(path_of("b/deeper"), 0777), 0);
    ck_assert_int_eq(mkdir(path_of("empty"), 0777), 0);
    write_file("c", "x");
    write_file("a", "x");
    write_file(".hidden", "x");
    write_file("b/deeper/z", "x");
    ck_assert_int_eq(input_list_add_path(&list, dir.path, &err), ERR_OK);
    ck_assert_uint_eq(list.count, 3);
    expect(0, "a", false);
    expect(1, "b/deeper/z", false);
    expect(2, "c", false);
    ck_assert_int_eq(input_list_add_path(&list, path_of("empty"), &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "/empty: there is no file in it"));
    unlink(path_of(".hidden"));
    unlink(path_of("b/deeper/z"));
    rmdir(path_of("b/deeper"));
    rmdir(path_of("b"));
    rmdir(path_of("empty"));
    teardown();
}
END_TEST

START_TEST(input_list_leaves_out_a_link_back_and_a_pipe_and_names_them)
{
    setup();
    write_file("a", "x");
    ck_assert_int_eq(mkdir(path_of("b"), 0700), 0);
    write_file("b/c", "x");
    ck_assert_int_eq(symlink(".", path_of("loop")), 0);
    ck_assert_int_eq(symlink("..", path_of("b/up")), 0);
    ck_assert_int_eq(mkfifo(path_of("pipe"), 0600), 0);
    ck_assert_msg(!input_list_add_path(&list, dir.path, &err), "%s", err.text);
    ck_assert_uint_eq(list.count, 2);
    expect(0, "a", false);
    expect(1, "b/c", false);
    ck_assert_ptr_nonnull(
        strstr(list.notes, "/b/up: a link to a folder that contains it: left out\n"));
    ck_assert_ptr_nonnull(
        strstr(list.notes, "/loop: a link to a folder that contains it: left out\n"));
    ck_assert_ptr_nonnull(strstr(list.notes, "/pipe: neither a file nor a folder: left out"));
    unlink(path_of("b/c"));
    unlink(path_of("b/up"));
    rmdir(path_of("b"));
    unlink(path_of("pipe"));
    unlink(path_of("loop"));
    teardown();
}
END_TEST

START_TEST(notes_end_after_twenty)
{
    setup();
    for (unsigned i = 0; i < 30; i++) {
        char name[8];
        snprintf(name, sizeof name, "l%02u", i);
        ck_assert_int_eq(symlink(".", path_of(name)), 0);
    }
    write_file("a", "x");
    ck_assert_int_eq(input_list_add_path(&list, dir.path, &err), ERR_OK);
    ck_assert_ptr_nonnull(strstr(list.notes, "/l19: "));
    ck_assert_ptr_null(strstr(list.notes, "/l20: "));
    ck_assert_str_eq(strrchr(list.notes, '\n'), "\nand more of this kind");
    teardown();
}
END_TEST

START_TEST(input_list_expands_a_missing_path_as_a_pattern_or_refuses_it)
{
    setup();
    write_file("a1.log", "x");
    write_file("a2.log", "x");
    write_file("b.log", "x");
    write_file("what?.log", "x");
    ck_assert_int_eq(input_list_add_path(&list, path_of("a*.log"), &err), ERR_OK);
    ck_assert_uint_eq(list.count, 2);
    expect(0, "a1.log", false);
    expect(1, "a2.log", false);
    ck_assert_int_eq(input_list_add_path(&list, path_of("what?.log"), &err), ERR_OK);
    expect(2, "what?.log", false); /* a name before a pattern */
    ck_assert_int_eq(input_list_add_path(&list, path_of("c*"), &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "/c*: there is no such file or folder"));
    teardown();
}
END_TEST

START_TEST(each_wafer_of_a_lot_is_an_input)
{
    struct stdf_writer writer;
    setup();
    stdf_writer_open(&writer, true);
    for (unsigned i = 0; i < 2; i++) {
        const char *id = i == 0 ? "W01" : "W02";
        stdf_writer_wafer(&writer, 1, id);
        stdf_writer_die(&writer, 1, 0, 0, STDF_WRITER_FAIL, 7);
        stdf_writer_wafer_end(&writer, 1, id);
    }
    stdf_writer_close(&writer);
    tempdir_write(&dir, "lot.bin", writer.bytes, writer.len);
    ck_assert_msg(!input_list_add_path(&list, path_of("lot.bin"), &err), "%s", err.text);
    ck_assert_uint_eq(list.count, 2);
    expect(0, "lot.bin#W01", true);
    expect(1, "lot.bin#W02", true);
    ck_assert_int_eq(input_list_add_path(&list, path_of("other.stdf#W09"), &err), ERR_OK);
    expect(2, "other.stdf#W09", true); /* reading it will tell that it is not there */
    tempdir_write(&dir, "cut.stdf", "\x02\x00\x00", 3);
    ck_assert_int_eq(input_list_add_path(&list, path_of("cut.stdf"), &err), ERR_OK);
    expect(3, "cut.stdf", true); /* reading it will tell why it cannot be used */
    ck_assert_ptr_null(list.notes);
    tempdir_write(&dir, "short.stdf", writer.bytes, writer.len - 2);
    ck_assert_int_eq(input_list_add_path(&list, path_of("short.stdf"), &err), ERR_OK);
    expect(4, "short.stdf#W01", true);
    expect(5, "short.stdf#W02", true);
    ck_assert_ptr_nonnull(strstr(list.notes, "/short.stdf: byte "));
    ck_assert_ptr_nonnull(strstr(list.notes, "the file is cut off"));
    tempdir_write(&dir, "lot.stdf#W1.png", "\x89PNG\r\n\x1a\n", 8);
    ck_assert_int_eq(input_list_add_path(&list, path_of("lot.stdf#W1.png"), &err), ERR_OK);
    expect(6, "lot.stdf#W1.png", true); /* the file of that name */
    tempdir_write(&dir, "a.tif", "II*\0\x08\0\0\0", 8);
    ck_assert_int_eq(input_list_add_path(&list, path_of("a.tif"), &err), ERR_OK);
    expect(7, "a.tif", true);
    teardown();
}
END_TEST

START_TEST(lines_are_texts_with_their_numbers)
{
    static const char *const texts[] = {"one", " two ", "four"};
    static const unsigned numbers[] = {1, 2, 5};
    /* A system pads a file that it had not finished with NULs. */
    static const char bytes[] = "one\r\n two \n\n \t\r\nfour\n\0\0\0";
    setup();
    tempdir_write(&dir, "a.log", bytes, sizeof bytes);
    ck_assert_int_eq(input_list_add_lines(&list, path_of("a.log"), &err), ERR_OK);
    ck_assert_uint_eq(list.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_str_eq(list.items[i].text, texts[i]);
        ck_assert_uint_eq(list.items[i].text_len, strlen(texts[i]));
        ck_assert_uint_eq(list.items[i].line, numbers[i]);
        ck_assert_str_eq(list.items[i].file, path_of("a.log"));
        ck_assert_ptr_null(list.items[i].path);
    }
    write_file("empty", "");
    ck_assert_int_eq(input_list_add_lines(&list, path_of("empty"), &err), ERR_OK);
    ck_assert_uint_eq(list.count, 3);
    ck_assert_int_ne(input_list_add_lines(&list, path_of("none"), &err), ERR_OK);
    ck_assert_ptr_nonnull(strstr(err.text, "/none: "));
    teardown();
}
END_TEST

START_TEST(input_list_takes_a_limited_number_of_inputs)
{
    setup();
    for (unsigned i = 0; i < INPUT_LIST_MAX; i++)
        ck_assert_int_eq(input_list_add(&list, &(struct listed_input){.text = "a"}, &err), ERR_OK);
    ck_assert_int_eq(input_list_add(&list, &(struct listed_input){.text = "a"}, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "at most 1048576 inputs at a time");
    teardown();
}
END_TEST

SUITE("input_list", a_file_is_known_by_its_first_bytes, a_folder_is_all_that_lies_below_it_by_name,
      input_list_leaves_out_a_link_back_and_a_pipe_and_names_them, notes_end_after_twenty,
      input_list_expands_a_missing_path_as_a_pattern_or_refuses_it, each_wafer_of_a_lot_is_an_input,
      lines_are_texts_with_their_numbers, input_list_takes_a_limited_number_of_inputs)
