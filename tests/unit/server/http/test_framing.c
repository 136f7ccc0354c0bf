#include "server/http/framing.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct head {
    const char *method, *version;
    const char *names[4], *values[4];
};

static enum err_code check(const struct head *head, struct framing *out, struct err *err)
{
    struct framing_field fields[4];
    size_t count = 0;
    for (; count < 4 && head->names[count] != NULL; count++)
        fields[count] = (struct framing_field){.name = head->names[count],
                                               .name_len = strlen(head->names[count]),
                                               .value = head->values[count],
                                               .value_len = strlen(head->values[count])};
    *err = (struct err){0};
    return framing_check(out, head->method, head->version, fields, count, err);
}

static const struct {
    struct head head;
    enum framing_body body;
    uint64_t length;
    bool expects;
} readings[] = {
    {{"GET", "HTTP/1.1", {"Host"}, {"h"}}, FRAMING_NO_BODY, 0, false},
    {{"GET", "HTTP/1.0", {NULL}, {NULL}}, FRAMING_NO_BODY, 0, false},
    {{"POST", "HTTP/1.1", {"Host"}, {"h"}}, FRAMING_NO_BODY, 0, false},
    {{"POST", "HTTP/1.0", {NULL}, {NULL}}, FRAMING_NO_BODY, 0, false},
    {{"POST", "HTTP/1.1", {"Host", "Expect"}, {"h", "100-continue"}}, FRAMING_NO_BODY, 0, true},
    {{"GET", "HTTP/1.1", {"Host", "Content-Length"}, {"", "0"}}, FRAMING_NO_BODY, 0, false},
    {{"POST", "HTTP/1.1", {"host", "content-length"}, {"[::1]:80", "0007"}},
     FRAMING_LENGTH,
     7,
     false},
    {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "0"}}, FRAMING_NO_BODY, 0, false},
    {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "18446744073709551615"}},
     FRAMING_LENGTH,
     UINT64_MAX,
     false},
    {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "18446744073709551610"}},
     FRAMING_LENGTH,
     UINT64_MAX - 5,
     false},
    {{"POST", "HTTP/1.1", {"Host", "Content-Length", "Expect"}, {"h", "1", " \t100-continue \t"}},
     FRAMING_LENGTH,
     1,
     true},
    {{"POST", "HTTP/1.1", {"Host", "Content-Length", "Expect"}, {"h", "1", "100-continued"}},
     FRAMING_LENGTH,
     1,
     false},
    {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "99999999999999999999999"}},
     FRAMING_LENGTH,
     UINT64_MAX,
     false},
    {{"POST",
      "HTTP/1.1",
      {"Host", "Transfer-Encoding", "Expect"},
      {"h", "CHUNKED", "100-Continue "}},
     FRAMING_CHUNKED,
     0,
     true},
    {{"POST", "HTTP/1.0", {"Content-Length"}, {"5 "}}, FRAMING_LENGTH, 5, false},
    {{"GET", "HTTP/1.1", {"Host"}, {"h:80 \t "}}, FRAMING_NO_BODY, 0, false},
    {{"DELETE", "HTTP/1.1", {"Host"}, {"h"}}, FRAMING_NO_BODY, 0, false},
    {{"BREW", "HTTP/1.1", {"Host", "X|y"}, {"h", "caf\xC3\xA9\ttab"}}, FRAMING_NO_BODY, 0, false},
};

START_TEST(framing_accepts_what_has_one_reading)
{
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        struct framing framing;
        struct err err;
        ck_assert_msg(check(&readings[i].head, &framing, &err) == ERR_OK, "row %zu: %s", i,
                      err.text);
        ck_assert_int_eq(framing.body, readings[i].body);
        ck_assert_uint_eq(framing.length, readings[i].length);
        ck_assert_int_eq(framing.expects_continue, readings[i].expects);
    }
}
END_TEST

START_TEST(framing_tells_a_length_of_zero_from_no_length)
{
    static const struct {
        struct head head;
        bool has_length;
    } rows[] = {
        {{"POST", "HTTP/1.1", {"Host"}, {"h"}}, false},
        {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "0"}}, true},
        {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "1"}}, true},
        {{"POST", "HTTP/1.1", {"Host", "Transfer-Encoding"}, {"h", "chunked"}}, true},
        {{"GET", "HTTP/1.1", {"Host"}, {"h"}}, false},
        {{"GET", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "0"}}, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct framing framing;
        struct err err;
        ck_assert_int_eq(check(&rows[i].head, &framing, &err), ERR_OK);
        ck_assert_msg(framing.has_length == rows[i].has_length, "row %zu", i);
    }
}
END_TEST

START_TEST(framing_refuses_what_has_two)
{
    static const struct {
        struct head head;
        enum err_code code;
    } rows[] = {
        {{"GET", "HTTP/1.1", {NULL}, {NULL}}, ERR_MALFORMED},
        {{"", "HTTP/1.1", {"Host"}, {"h"}}, ERR_MALFORMED},
        {{"G(T", "HTTP/1.1", {"Host"}, {"h"}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host", "Host"}, {"h", "h"}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host"}, {"h, i"}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host"}, {"h/i"}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host"}, {"h i "}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host", "X y"}, {"h", "z"}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host", ""}, {"h", "z"}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host", "X"}, {"h", "a\rb"}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host", "X"}, {"h", "a\x7F"}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "1"}}, ERR_MALFORMED},
        {{"DELETE", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "1"}}, ERR_MALFORMED},
        {{"DELETE", "HTTP/1.1", {"Host", "Transfer-Encoding"}, {"h", "chunked"}}, ERR_MALFORMED},
        {{"GET", "HTTP/1.1", {"Host", "Transfer-Encoding"}, {"h", "chunked"}}, ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", ""}}, ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "+1"}}, ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "-1"}}, ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "1, 1"}}, ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "Content-Length"}, {"h", "1 1"}}, ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "Content-Length1"}, {"h", "1"}}, ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "transfer-encodings"}, {"h", "1"}}, ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "Content-Length", "Content-Length"}, {"h", "1", "1"}},
         ERR_MALFORMED},
        {{"POST",
          "HTTP/1.1",
          {"Host", "Content-Length", "Transfer-Encoding"},
          {"h", "1", "chunked"}},
         ERR_MALFORMED},
        {{"POST",
          "HTTP/1.1",
          {"Host", "Transfer-Encoding", "Transfer-Encoding"},
          {"h", "chunked", "chunked"}},
         ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "Transfer-Encoding"}, {"h", "gzip, chunked"}},
         ERR_MALFORMED},
        {{"POST", "HTTP/1.1", {"Host", "Transfer-Encoding"}, {"h", "chunked;q=1"}}, ERR_MALFORMED},
        {{"POST", "HTTP/1.0", {"Transfer-Encoding"}, {"chunked"}}, ERR_MALFORMED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct framing framing;
        struct err err;
        ck_assert_msg(check(&rows[i].head, &framing, &err) == rows[i].code, "row %zu: %s", i,
                      err.text);
    }
}
END_TEST

START_TEST(framing_sees_a_nul_that_a_name_hides)
{
    const struct framing_field field = {"Content-Length\0x", 16, "1", 1};
    struct framing framing;
    struct err err = {0};
    ck_assert_int_eq(framing_check(&framing, "GET", "HTTP/1.0", &field, 1, &err), ERR_MALFORMED);
}
END_TEST

START_TEST(framing_refuses_trailers_about_framing)
{
    const struct framing_field good = {"X-Sum", 5, "1", 1};
    const struct framing_field bad[] = {{"host", 4, "h", 1},
                                        {"content-length", 14, "1", 1},
                                        {"Transfer-Encoding", 17, "chunked", 7},
                                        {"a b", 3, "c", 1}};
    struct err err = {0};
    ck_assert_int_eq(framing_check_trailers(&good, 1, &err), ERR_OK);
    for (size_t i = 0; i < 4; i++) {
        err = (struct err){0};
        ck_assert_int_eq(framing_check_trailers(&bad[i], 1, &err), ERR_MALFORMED);
    }
}
END_TEST

/* Each target stands in memory of exactly its size, so that a sanitizer sees a byte too far. */
static enum err_code path_of(const char *method, const char *target, char *out, struct err *err)
{
    size_t size = strlen(target) + 1;
    char *copy = malloc(size), *path = malloc(size);
    memcpy(copy, target, size);
    *err = (struct err){0};
    enum err_code code = framing_path(path, method, copy, err);
    memcpy(out, path, strlen(path) + 1);
    free(copy);
    free(path);
    return code;
}

START_TEST(framing_decodes_paths_of_every_form)
{
    static const char *const rows[][3] = {
        {"GET", "/", "/"},
        {"GET", "/a%20b%3Ac?d=%20%2F%61", "/a b:c"},
        {"GET", "/a+b?d", "/a+b"},
        {"GET", "/%C3%a4", "/\xC3\xA4"},
        {"GET", "///x", "///x"},
        {"GET", "http://h", "/"},
        {"GET", "HTTPS://u:p@h:1?x", "/"},
        {"GET", "http://[::1]/.", "/."},
        {"OPTIONS", "*", "*"},
        {"CONNECT", "h:443", "h:443"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[64];
        struct err err;
        ck_assert_int_eq(path_of(rows[i][0], rows[i][1], path, &err), ERR_OK);
        ck_assert_str_eq(path, rows[i][2]);
    }
}
END_TEST

START_TEST(framing_refuses_bad_targets)
{
    static const char *const rows[][2] = {
        {"GET", ""},     {"GET", "*"},        {"GET", "h:443"},       {"GET", "a/b"},
        {"GET", "/a b"}, {"GET", "/%"},       {"GET", "/%4"},         {"GET", "/%4g"},
        {"GET", "/%00"}, {"GET", "/?a=%00"},  {"GET", "/\x7F"},       {"GET", "/\xC3\xA4"},
        {"GET", "/a#b"}, {"GET", "/a?b#c"},   {"GET", "http://h#/a"}, {"GET", "#"},
        {"GET", "/\t"},  {"GET", "ftp://h/"}, {"CONNECT", "h/x y"},   {"GET", "http:/h"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[64];
        struct err err;
        ck_assert_int_eq(path_of(rows[i][0], rows[i][1], path, &err), ERR_MALFORMED);
    }
}
END_TEST

START_TEST(framing_survives_random_targets)
{
    unsigned seed = 7;
    for (int i = 0; i < 20000; i++) {
        char target[16], path[16];
        struct err err;
        size_t len = (size_t)rand_r(&seed) % 15;
        for (size_t k = 0; k < len; k++)
            target[k] = "/%%%012aFz?#:.h"[rand_r(&seed) % 15];
        target[len] = '\0';
        if (path_of("GET", target, path, &err) == ERR_OK)
            ck_assert_int_eq(path[0], '/');
    }
}
END_TEST

START_TEST(framing_decodes_two_hex_digits)
{
    static const struct {
        const char *escape;
        char byte;
    } cases[] = {{"%00", 0},          {"%01", 1},          {"%09", '\t'}, {"%0a", '\n'},
                 {"%0F", 15},         {"%10", 16},         {"%41", 'A'},  {"%9a", (char)0x9A},
                 {"%a9", (char)0xA9}, {"%fF", (char)0xFF}, {"%", 0},      {"%4", 0},
                 {"%4g", 0},          {"%g4", 0},          {"%4/", 0},    {"%:4", 0},
                 {"%@4", 0},          {"%4`", 0},          {"% 4", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(framing_decode_escape(cases[i].escape) == cases[i].byte, "%s",
                      cases[i].escape);
}
END_TEST

/* The error names the place of the first wrong byte in a target. No path is left of the target. */
START_TEST(framing_says_which_byte_of_a_target_is_wrong)
{
    static const struct {
        const char *target, *text;
    } cases[] = {
        {" /", "request target: byte 0 must be percent-encoded"},
        {"/a\x7F", "request target: byte 2 must be percent-encoded"},
        {"/\x80", "request target: byte 1 must be percent-encoded"},
        {"/\x20", "request target: byte 1 must be percent-encoded"},
        {"#", "request target: a fragment, at byte 0"},
        {"/a?b#c", "request target: a fragment, at byte 4"},
        {"/%00", "request target: % without two hex digits, or %00, at byte 1"},
        {"/a%4", "request target: % without two hex digits, or %00, at byte 2"},
        {"ftp://h/", "request target: neither a path nor an http URL"},
        {"*", "request target: neither a path nor an http URL"},
        {"/review/%67roups", "request target: %67, at byte 8, must be sent as g"},
        {"http://h/%2e?b", "request target: %2e, at byte 9, must be sent as ."},
        {"/admin%2Freload", "request target: %2F, at byte 6, is in no path of this server"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[64] = "/before";
        struct err err = {0};
        ck_assert_int_eq(framing_path(path, "GET", cases[i].target, &err), ERR_MALFORMED);
        ck_assert_str_eq(err.text, cases[i].text);
        ck_assert_str_eq(path, "");
    }
}
END_TEST

/* RFC 3986, section 2.3: a byte that may stand for itself has one spelling in a path, and a slash
 * has no other. A query may spell as it likes. */
START_TEST(framing_takes_one_spelling_of_a_path)
{
    static const char unreserved[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789-._~";
    for (unsigned byte = 1; byte < 256; byte++) {
        char target[32], path[64];
        struct err err;
        bool is_refused = byte == '/' || strchr(unreserved, (int)byte) != NULL;
        snprintf(target, sizeof target, "/a%%%02xb?c=%%%02X", byte, byte);
        ck_assert_int_eq(path_of("GET", target, path, &err), is_refused ? ERR_MALFORMED : ERR_OK);
    }
}
END_TEST

SUITE("framing", framing_takes_one_spelling_of_a_path, framing_decodes_two_hex_digits,
      framing_says_which_byte_of_a_target_is_wrong, framing_accepts_what_has_one_reading,
      framing_tells_a_length_of_zero_from_no_length, framing_refuses_what_has_two,
      framing_sees_a_nul_that_a_name_hides, framing_refuses_trailers_about_framing,
      framing_decodes_paths_of_every_form, framing_refuses_bad_targets,
      framing_survives_random_targets)
