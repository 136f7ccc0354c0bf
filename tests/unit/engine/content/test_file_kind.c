#include "engine/content/file_kind.h"
#include "tests/support/suite.h"

#include <string.h>

START_TEST(files_are_known_by_their_first_bytes)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *name;
    } cases[] = {
        {"\x89PNG\r\n\x1a\n", 8, "a PNG picture"},
        {"\xFF\xD8\xFF\xE0", 4, "a JPEG picture"},
        {"II*\0\x08\0\0\0", 8, "a TIFF picture"},
        {"MM\0*\0\0\0\x08", 8, "a TIFF picture"},
        {"BM\x36\x10\x0E\0\0\0\0\0\x36\0\0\0", 14, "a BMP picture"},
        {"GIF89a\1\0", 8, "a GIF picture"},
        {"RIFF\x24\0\0\0WEBPVP8 ", 16, "a WebP picture"},
        {"\0\0\0\x0cjP  \r\n\x87\n", 12, "a JPEG 2000 picture"},
        {"\xff\x4f\xff\x51", 4, "a JPEG 2000 picture"},
        {"\0\0\0\x18"
         "ftypheic",
         12, "a HEIC picture"},
        {"\0\0\0\x1c"
         "ftypavif",
         12, "an AVIF picture"},
        {"%PDF-1.7\n%\xE2\xE3", 11, "a PDF document"},
        {"PK\3\4\x14\0\6\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0[Content_Types].xml", 49,
         "an Office file (xlsx, docx or pptx)"},
        {"PK\3\4\x14\0", 6, "a zip archive (xlsx and docx are zip)"},
        {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, "an Office file (xls, doc or ppt)"},
        {"BZh91AY&SY\x80", 11, "bzip2"},
        {"\xfd\x37zXZ\0", 6, "xz"},
        {"\x28\xb5\x2f\xfd", 4, "zstd"},
        {"7z\xbc\xaf\x27\x1c", 6, "a 7z archive"},
        {"\x7f\x45LF\2\1", 6, "a program (ELF)"},
        {"\x1f\x8b\x08\0", 4, "gzip"},
        {"\2\0\0\x0a\2\4", 6, "an STDF file"},
        {"\0\2\0\x0a\1\4", 6, "an STDF file"},
        {"\x93NUMPY\1\0", 8, "a NumPy array"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct file_kind *kind = file_kind_of(cases[i].bytes, cases[i].len);
        ck_assert_msg(kind != NULL, "not known: %s", cases[i].name);
        ck_assert_str_eq(kind->name, cases[i].name);
        ck_assert_ptr_eq(file_kind_of_text(cases[i].bytes, cases[i].len), kind);
        ck_assert_uint_gt(strlen(kind->advice), 4);
    }
}
END_TEST

START_TEST(short_files_and_texts_are_of_no_kind)
{
    static const char *const texts[] = {"", "P", "BM", "SCAN chain 3 FAIL", "II* 4", "RIFF WEBP"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_ptr_null(file_kind_of(texts[i], strlen(texts[i])));
    ck_assert_ptr_null(file_kind_of("\x89PNG\r\n\x1a", 7));
    ck_assert_ptr_nonnull(file_kind_of("GIF89a and more", 15));
    ck_assert_ptr_null(file_kind_of_text("GIF89a and more", 15));
}
END_TEST

SUITE("file_kind", files_are_known_by_their_first_bytes, short_files_and_texts_are_of_no_kind)
