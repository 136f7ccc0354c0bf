#include "tests/support/call_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

void call_fixture_setup_bytes(struct call_fixture *fixture, const char *body, size_t len)
{
    const struct codec_limits limits = {.inputs_max = CALL_FIXTURE_INPUTS_MAX};
    *fixture = (struct call_fixture){.body = malloc(len > 0 ? len : 1)};
    arena_init(&fixture->arena);
    memcpy(fixture->body, body, len);
    enum err_code code = codec_parse_json(&fixture->call, fixture->body, len, &limits,
                                          &fixture->arena, &fixture->err);
    ck_assert_int_eq(code, fixture->err.code);
}

void call_fixture_setup(struct call_fixture *fixture, const char *body)
{
    call_fixture_setup_bytes(fixture, body, strlen(body));
}

void call_fixture_drop(struct call_fixture *fixture)
{
    arena_deinit(&fixture->arena);
    free(fixture->body);
}

void call_fixture_expect_error(const char *body, enum err_code code, const char *text)
{
    struct call_fixture fixture;
    call_fixture_setup(&fixture, body);
    ck_assert_msg(fixture.err.code == code, "%.80s: %s: %s", body, err_name(fixture.err.code),
                  fixture.err.text);
    ck_assert_msg(strcmp(fixture.err.text, text) == 0, "%.80s:\n got %s\nwant %s", body,
                  fixture.err.text, text);
    call_fixture_drop(&fixture);
}

char *call_fixture_padded(const char *prefix, char letter, size_t count, const char *suffix)
{
    size_t head = strlen(prefix), tail = strlen(suffix);
    char *text = malloc(head + count + tail + 1);
    memcpy(text, prefix, head);
    memset(text + head, letter, count);
    memcpy(text + head + count, suffix, tail + 1);
    return text;
}
