#include "server/api/media_type.h"
#include "tests/support/suite.h"

static void accepts(const char *value, enum request_body expected)
{
    struct err err = {0};
    enum request_body body;
    ck_assert_int_eq(media_type_parse(value, &body, &err), ERR_OK);
    ck_assert_int_eq(body, expected);
}

static void refuses(const char *value)
{
    struct err err = {0};
    enum request_body body;
    ck_assert_msg(media_type_parse(value, &body, &err) == ERR_MEDIA_TYPE, "accepted: %s", value);
}

START_TEST(media_type_reads_json_also_from_a_missing_or_form_type)
{
    accepts(NULL, REQUEST_JSON);
    accepts("application/json", REQUEST_JSON);
    accepts("Application/JSON ; charset=utf-8", REQUEST_JSON);
    accepts("application/x-www-form-urlencoded", REQUEST_JSON);
}
END_TEST

START_TEST(media_type_reads_raw_types)
{
    accepts("image/png", REQUEST_IMAGE);
    accepts(" IMAGE/JPEG;q=1", REQUEST_IMAGE);
    accepts("text/plain", REQUEST_TEXT);
    accepts("text/plain;charset=UTF-8", REQUEST_TEXT);
    accepts("text/plain; format=flowed; charset=\"utf-8\"", REQUEST_TEXT);
    accepts("text/plain;", REQUEST_TEXT);
}
END_TEST

START_TEST(media_type_refuses_others_and_other_charsets)
{
    refuses("");
    refuses(";");
    refuses("text/html");
    refuses("application/jsonp");
    refuses("application/jso");
    refuses("multipart/form-data; boundary=x");
    refuses("text/plain; charset=latin1");
    refuses("text/plain; charset=");
    refuses("text/plain; charset=\"utf-8");
    refuses("text/plain; charset=utf-8; charset=utf-16");
}
END_TEST

SUITE("media_type", media_type_reads_json_also_from_a_missing_or_form_type,
      media_type_reads_raw_types, media_type_refuses_others_and_other_charsets)
