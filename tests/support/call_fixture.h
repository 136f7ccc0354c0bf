/* call_fixture.h - a parsed request body and what its tests need around it.
 *
 *     struct call_fixture fixture;
 *     call_fixture_setup(&fixture, "{\"text\": \"a\"}");
 *     ck_assert_int_eq(fixture.err.code, ERR_OK);
 *     call_fixture_drop(&fixture);
 */
#ifndef ATTND_TESTS_SUPPORT_CALL_FIXTURE_H
#define ATTND_TESTS_SUPPORT_CALL_FIXTURE_H

#include "wire/codec.h"

#include <stddef.h>

enum { CALL_FIXTURE_INPUTS_MAX = 4 };

struct call_fixture {
    struct arena arena;
    struct predict_call call;
    struct err err;
    char *body; /* exactly as long as the body: a sanitizer sees any byte too far */
};

void call_fixture_setup(struct call_fixture *fixture, const char *body);
void call_fixture_setup_bytes(struct call_fixture *fixture, const char *body, size_t len);
void call_fixture_drop(struct call_fixture *fixture);

/* Fails the test unless the body gives exactly this error. */
void call_fixture_expect_error(const char *body, enum err_code code, const char *text);

/* prefix, count times letter, suffix; to be freed. */
char *call_fixture_padded(const char *prefix, char letter, size_t count, const char *suffix);

#endif
