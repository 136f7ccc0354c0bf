#include "engine/content/file_kind.h"

#include "engine/base/utf8.h"
#include "engine/fab/lot_formats.h"
#include "engine/vision/input_formats.h"

static const char convert[] = "convert it to " INPUT_FORMATS_OR;
static const char unpack[] = "unpack it, or pack it as gzip";
static const char from_archive[] = "send the files in it, one by one";
static const char from_document[] = "send the texts or pictures in it, one by one";
static const char office[] = "an Office file (xlsx, docx or pptx)";
static const char old_office[] = "an Office file (xls, doc or ppt)";
static const char no_input[] = "send a text, or a " INPUT_FORMATS_OR " picture";

/* All that are read neither as a picture nor as a lot. The first that fits counts. */
static const struct {
    struct file_signature signature;
    struct file_kind kind;
} kinds[] = {
    {{FILE_BEGINS("\x1f\x8b\x08")}, {FILE_IS_GZIP, "gzip", "unpack it first"}},
    {{FILE_BEGINS("II*\0")}, {FILE_IS_PICTURE, "a TIFF picture", convert}},
    {{FILE_BEGINS("MM\0*")}, {FILE_IS_PICTURE, "a TIFF picture", convert}},
    {{FILE_BEGINS("II+\0")}, {FILE_IS_PICTURE, "a BigTIFF picture", convert}},
    {{FILE_BEGINS("MM\0+")}, {FILE_IS_PICTURE, "a BigTIFF picture", convert}},
    {{FILE_BEGINS("GIF87a")}, {FILE_IS_PICTURE, "a GIF picture", convert}},
    {{FILE_BEGINS("GIF89a")}, {FILE_IS_PICTURE, "a GIF picture", convert}},
    {{FILE_HAS("RIFF", 8, "WEBP")}, {FILE_IS_PICTURE, "a WebP picture", convert}},
    {{FILE_BEGINS("\0\0\0\x0cjP  \r\n")}, {FILE_IS_PICTURE, "a JPEG 2000 picture", convert}},
    {{FILE_BEGINS("\xff\x4f\xff\x51")}, {FILE_IS_PICTURE, "a JPEG 2000 picture", convert}},
    {{FILE_BEGINS("\0\0\0\x0cJXL \r\n")}, {FILE_IS_PICTURE, "a JPEG XL picture", convert}},
    {{FILE_HAS("", 4, "ftyphei")}, {FILE_IS_PICTURE, "a HEIC picture", convert}},
    {{FILE_HAS("", 4, "ftyphev")}, {FILE_IS_PICTURE, "a HEIC picture", convert}},
    {{FILE_HAS("", 4, "ftypmif1")}, {FILE_IS_PICTURE, "a HEIF picture", convert}},
    {{FILE_HAS("", 4, "ftypmsf1")}, {FILE_IS_PICTURE, "a HEIF picture", convert}},
    {{FILE_HAS("", 4, "ftypavi")}, {FILE_IS_PICTURE, "an AVIF picture", convert}},
    {{FILE_HAS("", 4, "ftyp")}, {FILE_IS_OTHER, "a video (MP4)", no_input}},
    {{FILE_BEGINS("8BPS")}, {FILE_IS_PICTURE, "a Photoshop picture", convert}},
    {{FILE_BEGINS("\0\0\1\0")}, {FILE_IS_PICTURE, "an icon (ICO)", convert}},
    {{FILE_BEGINS("v/1\x01")}, {FILE_IS_PICTURE, "an OpenEXR picture", convert}},
    {{FILE_BEGINS("SIMPLE  =")}, {FILE_IS_PICTURE, "a FITS picture", convert}},
    {{FILE_HAS("", 128, "DICM")}, {FILE_IS_PICTURE, "a DICOM picture", convert}},
    {{FILE_BEGINS("%PDF-")}, {FILE_IS_OTHER, "a PDF document", from_document}},
    {{FILE_BEGINS("%!PS")}, {FILE_IS_OTHER, "a PostScript document", from_document}},
    {{FILE_HAS("PK\3\4", 30, "[Content_Types]")}, {FILE_IS_OTHER, office, from_document}},
    {{FILE_BEGINS("PK\3\4")},
     {FILE_IS_OTHER, "a zip archive (xlsx and docx are zip)", from_archive}},
    {{FILE_BEGINS("PK\5\6")}, {FILE_IS_OTHER, "an empty zip archive", from_archive}},
    {{FILE_BEGINS("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")}, {FILE_IS_OTHER, old_office, from_document}},
    {{FILE_HAS("BZh", 4, "1AY&SY")}, {FILE_IS_OTHER, "bzip2", unpack}},
    {{FILE_HAS("BZh", 4, "\x17rE8P\x90")}, {FILE_IS_OTHER, "bzip2", unpack}},
    {{FILE_BEGINS("\xfd\x37zXZ\0")}, {FILE_IS_OTHER, "xz", unpack}},
    {{FILE_BEGINS("\x28\xb5\x2f\xfd")}, {FILE_IS_OTHER, "zstd", unpack}},
    {{FILE_BEGINS("\x04\x22\x4d\x18")}, {FILE_IS_OTHER, "lz4", unpack}},
    {{FILE_BEGINS("\x1f\x9d")}, {FILE_IS_OTHER, "a file of compress (.Z)", unpack}},
    {{FILE_BEGINS("7z\xbc\xaf\x27\x1c")}, {FILE_IS_OTHER, "a 7z archive", from_archive}},
    {{FILE_BEGINS("Rar!\x1a\x07")}, {FILE_IS_OTHER, "a rar archive", from_archive}},
    {{FILE_HAS("", 257, "ustar")}, {FILE_IS_OTHER, "a tar archive", from_archive}},
    {{FILE_BEGINS("\x7f\x45LF")}, {FILE_IS_OTHER, "a program (ELF)", no_input}},
    {{FILE_BEGINS("MZ\x90\0")}, {FILE_IS_OTHER, "a program (Windows)", no_input}},
    {{FILE_BEGINS("\xcf\xfa\xed\xfe")}, {FILE_IS_OTHER, "a program (macOS)", no_input}},
    {{FILE_BEGINS("\xca\xfe\xba\xbe")}, {FILE_IS_OTHER, "a program (Java)", no_input}},
    {{FILE_BEGINS("\x93NUMPY")}, {FILE_IS_OTHER, "a NumPy array", "write it as a PNG picture"}},
    {{FILE_BEGINS("\x89HDF\r\n")}, {FILE_IS_OTHER, "an HDF5 file", from_document}},
    {{FILE_BEGINS("PAR1")}, {FILE_IS_OTHER, "a Parquet file", from_document}},
    {{FILE_BEGINS("SQLite format 3")}, {FILE_IS_OTHER, "an SQLite database", from_document}},
    {{FILE_BEGINS("\0\6\0\2")}, {FILE_IS_OTHER, "a GDSII layout", no_input}},
    {{FILE_BEGINS("version https://git-lfs")},
     {FILE_IS_OTHER, "a pointer of Git LFS", "run git lfs pull"}},
};

const struct file_kind *file_kind_of(const void *bytes, size_t len)
{
    const struct input_format *format = input_format_of_bytes(bytes, len);
    if (format != NULL)
        return &format->kind;
    const struct lot_format *lot = lot_format_of_bytes(bytes, len);
    if (lot != NULL)
        return &lot->kind;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (file_signature_fits(&kinds[i].signature, bytes, len))
            return &kinds[i].kind;
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

bool file_kind_names_picture(const char *name, size_t len)
{
    static const char *const endings[] = {".tif", ".tiff", ".gif", ".webp", ".jp2"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (file_signature_ends(endings[i], name, len))
            return true;
    return false;
}
