#include "engine/content/file_kind.h"

#include "engine/base/utf8.h"

#include <stdbool.h>
#include <string.h>

static const char convert[] = "convert it to PNG or JPEG";
static const char unpack[] = "unpack it, or pack it as gzip";
static const char from_archive[] = "send the files in it, one by one";
static const char from_document[] = "send the texts or pictures in it, one by one";
static const char as_png[] = "send its bytes as image/png";
static const char as_jpeg[] = "send its bytes as image/jpeg";
static const char wafers[] = "wafers are read as PNG or JPEG pictures";
static const char office[] = "an Office file (xlsx, docx or pptx)";
static const char old_office[] = "an Office file (xls, doc or ppt)";
static const char no_input[] = "send a text, or a PNG or JPEG picture";

#define BEGINS(bytes) bytes, sizeof(bytes) - 1, 0, "", 0
#define HAS(bytes, at, more) bytes, sizeof(bytes) - 1, at, more, sizeof(more) - 1

/* `more` stands at `at`: a container, or short letters with which a text may begin. The first that
 * fits counts. */
static const struct signature {
    const char *magic;
    size_t len;
    size_t at;
    const char *more;
    size_t more_len;
    struct file_kind kind;
} signatures[] = {
    {BEGINS("\x89PNG\r\n\x1a\n"), {FILE_IS_READ, "a PNG picture", as_png}},
    {BEGINS("\xff\xd8\xff"), {FILE_IS_READ, "a JPEG picture", as_jpeg}},
    {BEGINS("\x1f\x8b\x08"), {FILE_IS_GZIP, "gzip", "unpack it first"}},
    {BEGINS("II*\0"), {FILE_IS_PICTURE, "a TIFF picture", convert}},
    {BEGINS("MM\0*"), {FILE_IS_PICTURE, "a TIFF picture", convert}},
    {BEGINS("II+\0"), {FILE_IS_PICTURE, "a BigTIFF picture", convert}},
    {BEGINS("MM\0+"), {FILE_IS_PICTURE, "a BigTIFF picture", convert}},
    {HAS("BM", 6, "\0\0\0\0"), {FILE_IS_PICTURE, "a BMP picture", convert}},
    {BEGINS("GIF87a"), {FILE_IS_PICTURE, "a GIF picture", convert}},
    {BEGINS("GIF89a"), {FILE_IS_PICTURE, "a GIF picture", convert}},
    {HAS("RIFF", 8, "WEBP"), {FILE_IS_PICTURE, "a WebP picture", convert}},
    {BEGINS("\0\0\0\x0cjP  \r\n"), {FILE_IS_PICTURE, "a JPEG 2000 picture", convert}},
    {BEGINS("\xff\x4f\xff\x51"), {FILE_IS_PICTURE, "a JPEG 2000 picture", convert}},
    {BEGINS("\0\0\0\x0cJXL \r\n"), {FILE_IS_PICTURE, "a JPEG XL picture", convert}},
    {HAS("", 4, "ftyphei"), {FILE_IS_PICTURE, "a HEIC picture", convert}},
    {HAS("", 4, "ftyphev"), {FILE_IS_PICTURE, "a HEIC picture", convert}},
    {HAS("", 4, "ftypmif1"), {FILE_IS_PICTURE, "a HEIF picture", convert}},
    {HAS("", 4, "ftypmsf1"), {FILE_IS_PICTURE, "a HEIF picture", convert}},
    {HAS("", 4, "ftypavi"), {FILE_IS_PICTURE, "an AVIF picture", convert}},
    {HAS("", 4, "ftyp"), {FILE_IS_OTHER, "a video (MP4)", no_input}},
    {BEGINS("8BPS"), {FILE_IS_PICTURE, "a Photoshop picture", convert}},
    {BEGINS("\0\0\1\0"), {FILE_IS_PICTURE, "an icon (ICO)", convert}},
    {BEGINS("v/1\x01"), {FILE_IS_PICTURE, "an OpenEXR picture", convert}},
    {BEGINS("SIMPLE  ="), {FILE_IS_PICTURE, "a FITS picture", convert}},
    {HAS("", 128, "DICM"), {FILE_IS_PICTURE, "a DICOM picture", convert}},
    {BEGINS("%PDF-"), {FILE_IS_OTHER, "a PDF document", from_document}},
    {BEGINS("%!PS"), {FILE_IS_OTHER, "a PostScript document", from_document}},
    {HAS("PK\3\4", 30, "[Content_Types]"), {FILE_IS_OTHER, office, from_document}},
    {BEGINS("PK\3\4"), {FILE_IS_OTHER, "a zip archive (xlsx and docx are zip)", from_archive}},
    {BEGINS("PK\5\6"), {FILE_IS_OTHER, "an empty zip archive", from_archive}},
    {BEGINS("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), {FILE_IS_OTHER, old_office, from_document}},
    {HAS("BZh", 4, "1AY&SY"), {FILE_IS_OTHER, "bzip2", unpack}},
    {HAS("BZh", 4, "\x17rE8P\x90"), {FILE_IS_OTHER, "bzip2", unpack}},
    {BEGINS("\xfd\x37zXZ\0"), {FILE_IS_OTHER, "xz", unpack}},
    {BEGINS("\x28\xb5\x2f\xfd"), {FILE_IS_OTHER, "zstd", unpack}},
    {BEGINS("\x04\x22\x4d\x18"), {FILE_IS_OTHER, "lz4", unpack}},
    {BEGINS("\x1f\x9d"), {FILE_IS_OTHER, "a file of compress (.Z)", unpack}},
    {BEGINS("7z\xbc\xaf\x27\x1c"), {FILE_IS_OTHER, "a 7z archive", from_archive}},
    {BEGINS("Rar!\x1a\x07"), {FILE_IS_OTHER, "a rar archive", from_archive}},
    {HAS("", 257, "ustar"), {FILE_IS_OTHER, "a tar archive", from_archive}},
    {BEGINS("\x7f\x45LF"), {FILE_IS_OTHER, "a program (ELF)", no_input}},
    {BEGINS("MZ\x90\0"), {FILE_IS_OTHER, "a program (Windows)", no_input}},
    {BEGINS("\xcf\xfa\xed\xfe"), {FILE_IS_OTHER, "a program (macOS)", no_input}},
    {BEGINS("\xca\xfe\xba\xbe"), {FILE_IS_OTHER, "a program (Java)", no_input}},
    {BEGINS("\x93NUMPY"), {FILE_IS_OTHER, "a NumPy array", "write it as a PNG picture"}},
    {BEGINS("\x89HDF\r\n"), {FILE_IS_OTHER, "an HDF5 file", from_document}},
    {BEGINS("PAR1"), {FILE_IS_OTHER, "a Parquet file", from_document}},
    {BEGINS("SQLite format 3"), {FILE_IS_OTHER, "an SQLite database", from_document}},
    {BEGINS("\2\0\0\x0a"), {FILE_IS_OTHER, "an STDF file, not a log", wafers}},
    {BEGINS("\0\2\0\x0a"), {FILE_IS_OTHER, "an STDF file, not a log", wafers}},
    {BEGINS("\0\6\0\2"), {FILE_IS_OTHER, "a GDSII layout", no_input}},
    {BEGINS("version https://git-lfs"),
     {FILE_IS_OTHER, "a pointer of Git LFS", "run git lfs pull"}},
};

static bool holds(const char *bytes, size_t len, size_t at, const char *magic, size_t magic_len)
{
    return len >= at && magic_len <= len - at && memcmp(bytes + at, magic, magic_len) == 0;
}

const struct file_kind *file_kind_of(const void *bytes, size_t len)
{
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const struct signature *one = &signatures[i];
        if (holds(bytes, len, 0, one->magic, one->len) &&
            holds(bytes, len, one->at, one->more, one->more_len))
            return &one->kind;
    }
    return NULL;
}

/* A pointer of Git LFS is a text of three lines itself. */
static bool is_pointer(const struct file_kind *kind, const char *bytes, size_t len)
{
    enum { POINTER_BYTES_MAX = 1024 };
    return strstr(kind->name, "Git LFS") != NULL && len <= POINTER_BYTES_MAX &&
           memmem(bytes, len, "\noid ", 5) != NULL;
}

const struct file_kind *file_kind_of_text(const void *bytes, size_t len)
{
    enum { NEAR = 256 };
    const struct file_kind *kind = file_kind_of(bytes, len);
    const char *text = bytes;
    if (kind == NULL || is_pointer(kind, bytes, len))
        return kind;
    for (size_t at = 0, step; at < len && at < NEAR; at += step) {
        unsigned char c = (unsigned char)text[at];
        step = utf8_character_bytes(text + at, len - at);
        if (step == 0 || c < '\t' || (c >= 0x0e && c < 0x20 && c != 0x1b))
            return kind;
    }
    return NULL;
}
