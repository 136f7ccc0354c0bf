/* A body as it came -> what it holds. */
#include "server/protocol/content.h"

#include "server/serve/snapshots.h"
#include "tests/support/suite.h"
#include "tests/unit/server/fakes.h"

#include <zlib.h>

enum { BODY_MAX = 1000 };

static struct snapshot snapshot;
static struct http_exchange exchange;
static struct request request;

static enum err_code decode(enum request_body body, bool is_typed, const char *bytes, size_t len)
{
    arena_deinit(&exchange.arena);
    snapshot.config.body_bytes_max = BODY_MAX;
    exchange = (struct http_exchange){.body = bytes, .body_len = len};
    arena_init(&exchange.arena);
    bool is_packed = request.is_packed;
    const char *charset = request.charset;
    request = (struct request){.exchange = &exchange,
                               .snapshot = &snapshot,
                               .body = body,
                               .is_typed = is_typed,
                               .is_packed = is_packed,
                               .charset = charset};
    enum err_code code = content_decode(&request);
    ck_assert_int_eq(code, request.err.code);
    return code;
}

static void refuses(enum request_body body, bool is_typed, const char *bytes, size_t len,
                    const char *text)
{
    ck_assert_int_ne(decode(body, is_typed, bytes, len), ERR_OK);
    ck_assert_str_eq(request.err.text, text);
}

/* One gzip member of `len` bytes 'a'. */
static size_t pack(char *out, size_t room, size_t len)
{
    static char plain[4 * BODY_MAX];
    z_stream stream = {0};
    memset(plain, 'a', len);
    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    stream.next_in = (Bytef *)plain;
    stream.avail_in = (uInt)len;
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)room;
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return room - stream.avail_out;
}

START_TEST(what_the_head_tells_is_taken_as_it_is)
{
    request = (struct request){.charset = ""};
    ck_assert_int_eq(decode(REQUEST_JSON, true, "nonsense", 8), ERR_OK);
    ck_assert_ptr_eq(request.content, exchange.body);
    ck_assert_uint_eq(request.content_len, 8);
    ck_assert_int_eq(decode(REQUEST_JSON, true, "\x89PNG\r\n\x1a\n", 8), ERR_OK);
    ck_assert_int_eq(request.body, REQUEST_JSON);
    ck_assert_int_eq(decode(REQUEST_IMAGE, true, "{}", 2), ERR_OK);
    ck_assert_int_eq(request.body, REQUEST_IMAGE);
}
END_TEST

START_TEST(a_picture_is_known_by_its_first_bytes_if_the_head_tells_nothing)
{
    request = (struct request){.charset = ""};
    ck_assert_int_eq(decode(REQUEST_JSON, false, "\x89PNG\r\n\x1a\n...", 11), ERR_OK);
    ck_assert_int_eq(request.body, REQUEST_IMAGE);
    ck_assert_int_eq(decode(REQUEST_JSON, false, "\xFF\xD8\xFF", 3), ERR_OK);
    ck_assert_int_eq(request.body, REQUEST_IMAGE);
    static const char *const json[] = {"{}", " \t\r\n{", "[1]", "", "  "};
    for (size_t i = 0; i < sizeof json / sizeof *json; i++) {
        ck_assert_int_eq(decode(REQUEST_JSON, false, json[i], strlen(json[i])), ERR_OK);
        ck_assert_int_eq(request.body, REQUEST_JSON);
    }
    static const char text[] = "the body is neither JSON nor a PNG or JPEG picture; of a text say "
                               "so: Content-Type: text/plain";
    refuses(REQUEST_JSON, false, "FAIL bin 7", 10, text);
    refuses(REQUEST_JSON, false, "\x89PNG", 4, text);
    refuses(REQUEST_JSON, false, "\0{", 2, text);
    ck_assert_int_eq(request.err.code, ERR_MALFORMED);
}
END_TEST

START_TEST(a_text_becomes_utf_8)
{
    request = (struct request){.charset = "ISO-8859-1"};
    ck_assert_int_eq(decode(REQUEST_TEXT, true, "5 \xB5m", 4), ERR_OK);
    ck_assert_str_eq(request.content, "5 \xC2\xB5m");
    ck_assert_uint_eq(request.content_len, 5);
    request = (struct request){.charset = ""};
    ck_assert_int_eq(decode(REQUEST_TEXT, true,
                            "\xFF\xFE"
                            "a\0b\0",
                            6),
                     ERR_OK);
    ck_assert_str_eq(request.content, "ab");
    ck_assert_int_eq(decode(REQUEST_TEXT, true, "5 \xC2\xB5m", 5), ERR_OK);
    ck_assert_ptr_eq(request.content, exchange.body);
    refuses(REQUEST_TEXT, true, "5 \xB5m", 4,
            "body: invalid UTF-8 at byte 2; if the text has another charset, name it: "
            "Content-Type: text/plain; charset=windows-1252");
    request = (struct request){.charset = "UTF-16LE"};
    refuses(REQUEST_TEXT, true, "a\0b", 3, "body: not UTF-16LE at byte 2");
}
END_TEST

START_TEST(files_of_a_fab_are_no_logs)
{
    static const struct {
        const char *bytes, *format;
    } cases[] = {
        {"FileVersion 1 2;\nFileTimestamp 08-21-26 17:09:59;\n", "a KLARF file"},
        {"<?xml version=\"1.0\"?>\n<MapData xmlns=\"urn:semi-org:xsd.E142-1\">",
         "a SEMI wafer map (E142 or G85)"},
        {"<Map xmlns:semi=\"http://www.semi.org\" WaferId=\"1\">",
         "a SEMI wafer map (E142 or G85)"},
    };
    request = (struct request){.charset = ""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "body: this is %s, not a log; wafers are read as PNG or JPEG pictures",
                 cases[i].format);
        refuses(REQUEST_TEXT, true, cases[i].bytes, strlen(cases[i].bytes), text);
    }
    refuses(REQUEST_TEXT, true, "\x02\0\0\x0A\x02\x04", 6,
            "body: this is an STDF file, not a log; wafers are read as PNG or JPEG pictures");
    ck_assert_int_eq(decode(REQUEST_TEXT, true, "FileVersion mismatch in bin 7", 29), ERR_OK);
    ck_assert_int_eq(decode(REQUEST_TEXT, true, "<Map> overlay failed", 20), ERR_OK);
}
END_TEST

START_TEST(gzip_is_unpacked_within_the_limit_of_a_body)
{
    static char packed[256];
    request = (struct request){.charset = "", .is_packed = true};
    size_t len = pack(packed, sizeof packed, BODY_MAX);
    ck_assert_int_eq(decode(REQUEST_TEXT, true, packed, len), ERR_OK);
    ck_assert_uint_eq(request.content_len, BODY_MAX);
    ck_assert_uint_eq(strspn(request.content, "a"), BODY_MAX);
    ck_assert_uint_eq(content_len_max(&request), BODY_MAX);
    ck_assert_uint_gt(content_bytes(&request), 2 * BODY_MAX);
    len = pack(packed, sizeof packed, BODY_MAX + 1);
    refuses(REQUEST_TEXT, true, packed, len, "the body unpacks to more than 1000 bytes");
    ck_assert_int_eq(request.err.code, ERR_TOO_LARGE);
    ck_assert_uint_eq(content_len_max(&request), BODY_MAX);
    refuses(REQUEST_TEXT, true, "plain", 5, "body: damaged or cut off gzip data");
    ck_assert_int_eq(request.err.code, ERR_MALFORMED);
}
END_TEST

/* The size that the data claim is what is set aside, so they may not unpack to more. */
START_TEST(gzip_that_claims_less_than_it_holds_is_refused)
{
    static char packed[256];
    request = (struct request){.charset = "", .is_packed = true};
    size_t len = pack(packed, sizeof packed, BODY_MAX);
    memcpy(packed + len - 4, "\x0A\0\0\0", 4);
    refuses(REQUEST_TEXT, true, packed, len, "body: the gzip data unpack to more than 10 bytes");
}
END_TEST

SUITE("content", what_the_head_tells_is_taken_as_it_is,
      a_picture_is_known_by_its_first_bytes_if_the_head_tells_nothing, a_text_becomes_utf_8,
      files_of_a_fab_are_no_logs, gzip_is_unpacked_within_the_limit_of_a_body,
      gzip_that_claims_less_than_it_holds_is_refused)
