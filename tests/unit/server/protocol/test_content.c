/* A body as it came -> what it holds. */
#include "server/protocol/content.h"

#include "engine/content/charset.h"
#include "engine/vision/input_formats.h"
#include "server/serve/snapshots.h"
#include "tests/support/gzip_writer.h"
#include "tests/support/suite.h"
#include "tests/unit/server/fakes.h"

enum { BODY_MAX = 1000 };

static struct snapshot snapshot;
static struct http_exchange exchange;
static struct request request;

static enum err_code decode(enum request_body body, bool is_typed, const char *bytes, size_t len)
{
    arena_deinit(&exchange.arena);
    exchange = (struct http_exchange){.body = bytes, .body_len = len, .body_bytes_max = BODY_MAX};
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

/* Packs `len` bytes 'a'. */
static size_t pack(char *out, size_t room, size_t len)
{
    static char plain[4 * BODY_MAX];
    memset(plain, 'a', len);
    return gzip_pack(out, room, plain, len);
}

START_TEST(content_of_a_declared_kind_is_not_inspected)
{
    request = (struct request){.charset = ""};
    ck_assert_int_eq(decode(REQUEST_JSON, true, "nonsense", 8), ERR_OK);
    ck_assert_ptr_eq(request.content, exchange.body);
    ck_assert_uint_eq(request.content_len, 8);
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
    static const char *const json[] = {"{}", " \t\r\n{", "[1]", "  "};
    for (size_t i = 0; i < sizeof json / sizeof *json; i++) {
        ck_assert_int_eq(decode(REQUEST_JSON, false, json[i], strlen(json[i])), ERR_OK);
        ck_assert_int_eq(request.body, REQUEST_JSON);
    }
    static const char text[] =
        "unknown body: send JSON, or for a prediction a picture (" INPUT_FORMATS_OR
        ") or a lot (STDF). With curl use "
        "--data-binary @FILE. For plain text add Content-Type: text/plain";
    refuses(REQUEST_JSON, false, "", 0,
            "the body is empty; curl --data-binary @FILE sends none if it cannot read FILE");
    refuses(REQUEST_JSON, false, "FAIL bin 7", 10, text);
    refuses(REQUEST_JSON, false, "\x89PNG", 4, text);
    refuses(REQUEST_JSON, false, "\0x", 2, text);
    ck_assert_int_eq(request.err.code, ERR_MALFORMED);
}
END_TEST

START_TEST(a_text_becomes_utf_8)
{
    request = (struct request){.charset = "CP1252"};
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
    refuses(REQUEST_TEXT, true, "5\0\xB5\0m", 5,
            "body: invalid UTF-8 at byte 2; if the text has another charset, name it: "
            "Content-Type: text/plain; charset=utf-16le");
    refuses(REQUEST_TEXT, true, "\0005\0\xB5", 4,
            "body: invalid UTF-8 at byte 3; if the text has another charset, name it: "
            "Content-Type: text/plain; charset=utf-16be");
    request = (struct request){.charset = "UTF-16LE"};
    refuses(REQUEST_TEXT, true, "a\0b", 3, "body: not UTF-16LE at byte 2");
}
END_TEST

START_TEST(json_may_have_a_mark_and_another_charset)
{
    static const char latin[] = "{\"text\":\"5 \xB5m\"}", utf8[] = "{\"text\":\"5 \xC2\xB5m\"}";
    static const char sixteen[] = "\xFF\xFE{\0\"\0a\0\"\0:\0001\0}\0";
    request = (struct request){.charset = ""};
    ck_assert_int_eq(decode(REQUEST_JSON, true, "\xEF\xBB\xBF{}", 5), ERR_OK);
    ck_assert_str_eq(request.content, "{}");
    ck_assert_uint_eq(request.content_len, 2);
    ck_assert_int_eq(decode(REQUEST_JSON, false, "\xEF\xBB\xBF{}", 5), ERR_OK);
    ck_assert_int_eq(decode(REQUEST_JSON, true, "{}\0\0", 4), ERR_OK);
    ck_assert_uint_eq(request.content_len, 2);
    ck_assert_int_eq(decode(REQUEST_JSON, true, sixteen, sizeof sixteen - 1), ERR_OK);
    ck_assert_str_eq(request.content, "{\"a\":1}");
    ck_assert_uint_ge(content_bytes(&request), request.content_len + 1);
    ck_assert_uint_ge(content_len_max(&request), request.content_len);
    ck_assert_int_eq(decode(REQUEST_JSON, false, sixteen + 2, sizeof sixteen - 3), ERR_OK);
    ck_assert_str_eq(request.content, "{\"a\":1}");
    request = (struct request){.charset = "CP1252"};
    ck_assert_int_eq(decode(REQUEST_JSON, true, latin, sizeof latin - 1), ERR_OK);
    ck_assert_str_eq(request.content, utf8);
    ck_assert_int_eq(decode(REQUEST_JSON, true, "\xEF\xBB\xBF{}", 5), ERR_OK); /* the mark counts */
    ck_assert_str_eq(request.content, "{}");
}
END_TEST

START_TEST(files_that_are_not_read_are_named)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } cases[] = {
        {"\x1F\x8B\x08\0", 4, "body: this is gzip: send Content-Encoding: gzip"},
        {"II*\0\x08\0\0\0", 8, "body: this is a TIFF picture: convert it to " INPUT_FORMATS_OR},
        {"PK\3\4\x14\0", 6,
         "body: this is a zip archive (xlsx and docx are zip): send the files in it, one by one"},
    };
    request = (struct request){.charset = ""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refuses(REQUEST_TEXT, true, cases[i].bytes, cases[i].len, cases[i].text);
        ck_assert_int_eq(request.err.code, ERR_UNUSABLE);
        refuses(REQUEST_JSON, true, cases[i].bytes, cases[i].len, cases[i].text);
        ck_assert_int_eq(request.err.code, ERR_MALFORMED);
        refuses(REQUEST_JSON, false, cases[i].bytes, cases[i].len, cases[i].text);
    }
    refuses(REQUEST_LOT, true, cases[0].bytes, cases[0].len, cases[0].text);
    refuses(REQUEST_IMAGE, true, cases[0].bytes, cases[0].len, cases[0].text);
    refuses(REQUEST_TEXT, true, "\x89PNG\r\n\x1a\n", 8,
            "body: this is a PNG picture: send its bytes as image/png");
    ck_assert_int_eq(decode(REQUEST_TEXT, true, "GIF89a decoder failed", 21), ERR_OK);
}
END_TEST

/* A lot is known by its head, or else by its first bytes, also of a packed body. */
START_TEST(lots_are_known_by_their_first_bytes)
{
    static const char far[] = "\x02\0\0\x0A\x02\x04";
    static char packed[64];
    const size_t len = sizeof far - 1;
    request = (struct request){.charset = ""};
    ck_assert_int_eq(decode(REQUEST_JSON, false, far, len), ERR_OK);
    ck_assert_int_eq(request.body, REQUEST_LOT);
    ck_assert(content_is_lot(&request));
    ck_assert_int_eq(decode(REQUEST_LOT, true, "anything", 8), ERR_OK);
    ck_assert(content_is_lot(&request));
    refuses(REQUEST_TEXT, true, far, len,
            "body: this is an STDF file: send its bytes as application/x-stdf");
    ck_assert(!content_is_lot(&request));
    const size_t packed_len = gzip_pack(packed, sizeof packed, far, len);
    request = (struct request){.is_packed = true, .charset = ""};
    ck_assert_int_eq(decode(REQUEST_JSON, false, packed, packed_len), ERR_OK);
    ck_assert_int_eq(request.body, REQUEST_LOT);
    request.body = REQUEST_JSON;
    ck_assert(content_is_lot(&request));
}
END_TEST

/* gzip(1) reads several members, and zeros behind them, as one text. */
START_TEST(gzip_of_several_members_is_one_text)
{
    static char packed[512];
    request = (struct request){.charset = "", .is_packed = true};
    size_t len = pack(packed, sizeof packed, 400);
    len += pack(packed + len, sizeof packed - len, 600);
    ck_assert_int_eq(decode(REQUEST_TEXT, true, packed, len), ERR_OK);
    ck_assert_uint_eq(request.content_len, BODY_MAX);
    ck_assert_uint_eq(content_len_max(&request), BODY_MAX);
    ck_assert_int_eq(decode(REQUEST_TEXT, true, packed, len + 10), ERR_OK);
    ck_assert_uint_eq(request.content_len, BODY_MAX);
    len += pack(packed + len, sizeof packed - len, 1);
    refuses(REQUEST_TEXT, true, packed, len, "the body unpacks to more than 1000 bytes");
    refuses(REQUEST_TEXT, true, packed, len - 3, "the body unpacks to more than 1000 bytes");
}
END_TEST

/* Packed JSON takes the room of the same JSON that is not packed. */
START_TEST(packed_json_takes_no_more_room_than_its_charset_may_need)
{
    static const char wide[] = "{\0\"\0a\0\"\0:\0001\0}\0";
    static char packed[256];
    size_t len = gzip_pack(packed, sizeof packed, "{\"a\":1}", 7);
    request = (struct request){.charset = "", .is_packed = true};
    ck_assert_int_eq(decode(REQUEST_JSON, true, packed, len), ERR_OK);
    ck_assert_uint_eq(content_len_max(&request), 7);
    ck_assert_uint_eq(content_bytes(&request), 7 + 2);
    len = gzip_pack(packed, sizeof packed, wide, sizeof wide - 1);
    ck_assert_int_eq(decode(REQUEST_JSON, true, packed, len), ERR_OK);
    ck_assert_str_eq(request.content, "{\"a\":1}");
    ck_assert_uint_eq(content_len_max(&request), charset_bytes(sizeof wide - 1));
    ck_assert_uint_eq(content_bytes(&request), sizeof wide + 1 + charset_bytes(sizeof wide - 1));
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
    refuses(REQUEST_TEXT, true, "plain", 5, "body: not gzip data: they do not begin with 1f 8b");
    ck_assert_int_eq(request.err.code, ERR_MALFORMED);
    len = pack(packed, sizeof packed, BODY_MAX);
    refuses(REQUEST_TEXT, true, packed, len - 1, "body: the gzip data are cut off");
    ck_assert_int_eq(request.err.code, ERR_MALFORMED);
}
END_TEST

SUITE("content", content_of_a_declared_kind_is_not_inspected,
      a_picture_is_known_by_its_first_bytes_if_the_head_tells_nothing, a_text_becomes_utf_8,
      json_may_have_a_mark_and_another_charset, files_that_are_not_read_are_named,
      lots_are_known_by_their_first_bytes, gzip_is_unpacked_within_the_limit_of_a_body,
      packed_json_takes_no_more_room_than_its_charset_may_need, gzip_of_several_members_is_one_text)
