#include "engine/content/file_kind.h"
#include "engine/vision/input_formats.h"
#include "tests/unit/engine/vision/fixture.h"

#include <ctype.h>
#include <stdarg.h>

/* ---- the table ---- */

static size_t copy_first_bytes(const struct input_format *format, char out[64])
{
    const struct file_signature *signature = &format->signature;
    memset(out, 0, 64);
    memcpy(out, signature->magic, signature->len);
    memcpy(out + signature->at, signature->more, signature->more_len);
    const size_t end = signature->at + signature->more_len;
    return end > signature->len ? end : signature->len;
}

START_TEST(a_file_s_first_bytes_tell_its_format_and_fewer_do_not)
{
    for (const struct input_format *format = input_formats; format->name != NULL; format++) {
        char bytes[64];
        const size_t len = copy_first_bytes(format, bytes);
        ck_assert_ptr_eq(input_format_of_bytes(bytes, len), format);
        ck_assert_ptr_eq(input_format_of_bytes(bytes, sizeof bytes), format);
        ck_assert_ptr_null(input_format_of_bytes(bytes, len - 1));
        ck_assert_ptr_eq(file_kind_of(bytes, len), &format->kind);
        ck_assert_ptr_eq(file_kind_of_text(bytes, len), &format->kind);
    }
    ck_assert_ptr_null(input_format_of_bytes("", 0));
    ck_assert_ptr_null(input_format_of_bytes("GIF89a", 6));
}
END_TEST

START_TEST(media_types_and_endings_tell_one_format_in_any_case)
{
    for (const struct input_format *format = input_formats; format->name != NULL; format++) {
        ck_assert_ptr_nonnull(format->media_types[0]);
        ck_assert_ptr_nonnull(format->endings[0]);
        for (const char *const *type = format->media_types; *type != NULL; type++) {
            char shouted[64] = "";
            for (size_t i = 0; i < strlen(*type); i++)
                shouted[i] = (char)toupper((unsigned char)(*type)[i]);
            ck_assert_ptr_eq(input_format_of_media_type(*type, strlen(*type)), format);
            ck_assert_ptr_eq(input_format_of_media_type(shouted, strlen(shouted)), format);
            ck_assert_ptr_null(input_format_of_media_type(*type, strlen(*type) - 1));
        }
        for (const char *const *ending = format->endings; *ending != NULL; ending++) {
            char name[64];
            const int len = snprintf(name, sizeof name, "lot.7/W03%s", *ending);
            ck_assert_ptr_eq(input_format_of_name(name, (size_t)len), format);
            ck_assert_ptr_null(input_format_of_name(name, (size_t)len - 1));
            ck_assert(!file_kind_names_picture(name, (size_t)len));
            name[len - 1] = (char)toupper((unsigned char)name[len - 1]);
            ck_assert_ptr_eq(input_format_of_name(name, (size_t)len), format);
        }
    }
    ck_assert_ptr_null(input_format_of_media_type("image/tiff", 10));
    ck_assert_ptr_null(input_format_of_name("png", 3));
    ck_assert_ptr_null(input_format_of_name("", 0));
}
END_TEST

/* ---- who repeats it ---- */

/* The words of all rows, with `between` them and `last` before the last. */
static void join(bool takes_types, const char *last, char *out, size_t size)
{
    size_t used = 0;
    for (const struct input_format *format = input_formats; format->name != NULL; format++) {
        const char *before = format == input_formats ? "" : format[1].name == NULL ? last : ", ";
        used += (size_t)snprintf(out + used, size - used, "%s%s", before,
                                 takes_types ? format->media_types[0] : format->name);
        ck_assert_uint_lt(used, size);
    }
}

START_TEST(words_of_messages_are_those_of_the_rows)
{
    char words[256];
    join(false, ", ", words, sizeof words);
    ck_assert_str_eq(INPUT_FORMATS_LIST, words);
    join(false, " or ", words, sizeof words);
    ck_assert_str_eq(INPUT_FORMATS_OR, words);
    join(true, ", ", words, sizeof words);
    ck_assert_str_eq(INPUT_FORMATS_MEDIA_TYPES, words);
    for (const struct input_format *format = input_formats; format->name != NULL; format++) {
        ck_assert_ptr_nonnull(strstr(format->kind.name, format->name));
        ck_assert_ptr_nonnull(strstr(format->kind.advice, format->media_types[0]));
        ck_assert_int_eq(format->kind.use, FILE_IS_READ);
    }
}
END_TEST

__attribute__((format(printf, 2, 3))) static void expect(const char *path, const char *form, ...)
{
    struct arena arena;
    size_t len;
    char wanted[256];
    va_list words;
    va_start(words, form);
    vsnprintf(wanted, sizeof wanted, form, words);
    va_end(words);
    arena_init(&arena);
    const char *text = (const char *)fixture_read(path, &len, &arena);
    ck_assert_msg(strstr(text, wanted) != NULL, "%s has no %s", path, wanted);
    arena_deinit(&arena);
}

/* The page and the clients run where the table is not; the interface's document is a file. */
START_TEST(page_clients_and_documents_tell_every_format)
{
    for (const struct input_format *format = input_formats; format->name != NULL; format++) {
        const char *type = format->media_types[0];
        const char *magic = format->signature.magic;
        expect("server/ui/input.js", "{ type: '%s', bytes: [0x%02X, 0x%02X", type,
               (unsigned char)magic[0], (unsigned char)magic[1]);
        expect("server/ui/pixels.js", "type === '%s'", type);
        expect("server/ui/index.html", "%s,", type);
        expect("server/openapi/openapi.json", "\"%s\", ", type);
        for (const char *const *ending = format->endings; *ending != NULL; ending++) {
            expect("clients/python/attnd_client.py", "\"%s\": \"image/", *ending);
            expect("clients/javascript/attnd-client.mjs", "'%s': 'image/", *ending);
            expect("clients/csharp/AttndClient.cs", "ending == \"%s\"", *ending);
            expect("clients/powershell/attnd-client.ps1", "'%s' { 'image/", *ending);
        }
    }
    expect("server/ui/problem.js", "attnd reads %s and plain text", INPUT_FORMATS_LIST);
    expect("server/openapi/openapi.json", "The bytes of a %s file", INPUT_FORMATS_OR);
    expect("server/openapi/openapi.json", "A %s file in base64", INPUT_FORMATS_OR);
    expect("README.md", "| %s, base64 in JSON |", INPUT_FORMATS_LIST);
    expect("README.md", "| %s, wafers of STDF |", INPUT_FORMATS_LIST);
    expect("SECURITY.md", "\n| %s | `engine/vision`", INPUT_FORMATS_LIST);
    expect("docs/api.md", "A picture is base64 of a %s", INPUT_FORMATS_OR);
    expect("docs/batch.md", "%s and STDF are recognised", INPUT_FORMATS_LIST);
    expect("docs/faq.md", "As a %s,", INPUT_FORMATS_OR);
    expect("docs/stream.md", "or a %s (for an image model)", INPUT_FORMATS_OR);
}
END_TEST

SUITE("input_formats", a_file_s_first_bytes_tell_its_format_and_fewer_do_not,
      media_types_and_endings_tell_one_format_in_any_case, words_of_messages_are_those_of_the_rows,
      page_clients_and_documents_tell_every_format)
