#include "engine/vision/input_formats.h"
#include "tests/support/suite.h"
#include "wire/media_type.h"

static struct media_type accepts(const char *value, enum request_body expected)
{
    struct err err = {0};
    struct media_type type;
    ck_assert_int_eq(media_type_parse(value, &type, &err), ERR_OK);
    ck_assert_int_eq(type.body, expected);
    return type;
}

static void refuses(const char *value, const char *text)
{
    struct err err = {0};
    struct media_type type;
    ck_assert_msg(media_type_parse(value, &type, &err) == ERR_MEDIA_TYPE, "accepted: %s", value);
    ck_assert_str_eq(err.text, text);
}

START_TEST(media_type_reads_json_also_from_a_missing_or_form_type)
{
    ck_assert(!accepts(NULL, REQUEST_JSON).is_told);
    ck_assert(accepts("application/json", REQUEST_JSON).is_told);
    ck_assert(accepts("Application/JSON ; charset=utf-8", REQUEST_JSON).is_told);
    ck_assert(accepts("text/json", REQUEST_JSON).is_told);
    ck_assert(!accepts("application/x-www-form-urlencoded", REQUEST_JSON).is_told);
    ck_assert(!accepts("application/x-www-form-urlencoded; charset=x", REQUEST_JSON).is_told);
    ck_assert(!accepts("application/octet-stream", REQUEST_JSON).is_told);
}
END_TEST

START_TEST(media_type_reads_raw_types)
{
    ck_assert(accepts("image/png", REQUEST_IMAGE).is_told);
    accepts(" IMAGE/JPEG;q=1", REQUEST_IMAGE);
    static const char *const images[] = {"image/jpg",    "image/x-png", "image/pjpeg",
                                         "image/x-jpeg", "IMAGE/X-PNG", "image/*"};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        ck_assert(accepts(images[i], REQUEST_IMAGE).is_told);
    ck_assert(accepts("text/plain", REQUEST_TEXT).is_told);
    accepts("text/plain;", REQUEST_TEXT);
    ck_assert(accepts("application/x-stdf", REQUEST_LOT).is_told);
    ck_assert(accepts("Application/STDF; charset=none", REQUEST_LOT).is_told);
}
END_TEST

START_TEST(media_type_tells_the_charset_of_a_text)
{
    ck_assert_str_eq(accepts("text/plain", REQUEST_TEXT).charset, "");
    ck_assert_str_eq(accepts("text/plain;charset=UTF-8", REQUEST_TEXT).charset, "");
    ck_assert_str_eq(accepts("text/plain; format=flowed; charset=\"utf-8\"", REQUEST_TEXT).charset,
                     "");
    ck_assert_str_eq(accepts("text/plain; charset=latin1", REQUEST_TEXT).charset, "CP1252");
    ck_assert_str_eq(accepts("text/plain; charset=\"UTF-16\"", REQUEST_TEXT).charset, "UTF-16");
    ck_assert_str_eq(accepts("text/plain; charset=utf-8; charset=utf-16", REQUEST_TEXT).charset,
                     "UTF-16");
    ck_assert_str_eq(accepts("application/json; charset=latin1", REQUEST_JSON).charset, "CP1252");
    ck_assert_str_eq(accepts("application/json; charset=utf-16", REQUEST_JSON).charset, "UTF-16");
}
END_TEST

static const char types[] = "Content-Type must be application/json, " INPUT_FORMATS_MEDIA_TYPES
                            ", application/x-stdf, application/x-ndjson or text/plain";
static const char charsets[] =
    "the charset of text/plain must be utf-8, utf-16, windows-1252 (also iso-8859-1), iso-8859-15, "
    "shift_jis (windows-31j), gb18030 (also gbk, gb2312), big5 or euc-kr (cp949)";

START_TEST(media_type_refuses_others_and_other_charsets)
{
    refuses("", types);
    refuses(";", types);
    refuses("text/html", types);
    refuses("application/jsonp", types);
    refuses("application/jso", types);
    refuses("image/tiff", "Content-Type must be application/json, " INPUT_FORMATS_MEDIA_TYPES
                          ", application/x-stdf, application/x-ndjson or "
                          "text/plain; convert another picture to " INPUT_FORMATS_OR);
    refuses("multipart/form-data; boundary=x",
            "Content-Type must be application/json, " INPUT_FORMATS_MEDIA_TYPES
            ", application/x-stdf, application/x-ndjson or text/plain; send the "
            "file itself as the body (curl --data-binary @FILE)");
    const char *tables[] = {"text/csv", "Text/CSV; header=present", "application/csv",
                            "text/tab-separated-values"};
    for (unsigned i = 0; i < sizeof tables / sizeof tables[0]; i++)
        refuses(tables[i], "Content-Type must be application/json, " INPUT_FORMATS_MEDIA_TYPES
                           ", application/x-stdf, application/x-ndjson or text/plain; send a table "
                           "as lines, a JSON object for each row (application/x-ndjson), or give "
                           "it to attnd-batch --data");
    refuses("text/plain; charset=latin1x", charsets);
    refuses("text/plain; charset=", charsets);
    refuses("text/plain; charset=\"utf-8", charsets);
    refuses("text/plain; charset=ebcdic; charset=utf-8", charsets);
}
END_TEST

SUITE("media_type", media_type_reads_json_also_from_a_missing_or_form_type,
      media_type_reads_raw_types, media_type_tells_the_charset_of_a_text,
      media_type_refuses_others_and_other_charsets)
