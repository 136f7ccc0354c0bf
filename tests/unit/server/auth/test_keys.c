#include "server/auth/keys.h"

#include "engine/base/sha256.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "sha256:..." of a key, in one of a few static buffers. */
static const char *hash_of(const char *key)
{
    static char buffers[8][80];
    static unsigned next;
    char *out = buffers[next++ % 8], digits[SHA256_HEX_BYTES];
    sha256_hex(key, strlen(key), digits);
    snprintf(out, sizeof buffers[0], "sha256:%s", digits);
    return out;
}

static struct keys *parse(const char *text, const struct keys *before, struct err *err)
{
    struct keys *keys;
    *err = (struct err){0};
    ck_assert_int_eq(keys_parse(&keys, text, strlen(text), "keys", before, err), err->code);
    ck_assert_int_eq(keys == NULL, err->code != ERR_OK);
    return keys;
}

/* One line with the hash of "a" and these words behind it. */
static struct keys *parse_words(const char *words, struct err *err)
{
    char text[512];
    snprintf(text, sizeof text, "%s %s\n", hash_of("a"), words);
    return parse(text, NULL, err);
}

static const struct key *find(const struct keys *keys, const char *sent)
{
    return keys_find(keys, sent, strlen(sent));
}

START_TEST(keys_are_found_by_what_was_hashed_and_by_nothing_else)
{
    char text[512];
    struct err err;
    snprintf(text, sizeof text, "# ours\n\n%s one predict\r\n \t%s two.B-_ admin,metrics # last",
             hash_of("first key"), hash_of("second"));
    struct keys *keys = parse(text, NULL, &err);
    ck_assert_uint_eq(keys_count(keys), 2);
    ck_assert_str_eq(find(keys, "first key")->name, "one");
    ck_assert_str_eq(find(keys, "second")->name, "two.B-_");
    static const char *const others[] = {"", "first", "first key ", "First key", "one", "secon"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(find(keys, others[i]) == NULL, "%s", others[i]);
    ck_assert_ptr_null(find(keys, hash_of("second")));
    ck_assert_ptr_null(find(keys, hash_of("second") + strlen("sha256:")));
    ck_assert_uint_eq(keys_at(keys, 1)->line, 4);
    keys_close(keys);
}
END_TEST

/* A hash that differs in one bit anywhere is another key's. */
START_TEST(every_bit_of_a_hash_counts)
{
    char text[128];
    struct err err;
    for (unsigned bit = 0; bit < 256; bit++) {
        char *digit = text + strlen("sha256:") + bit / 4;
        snprintf(text, sizeof text, "%s one predict", hash_of("k"));
        unsigned value = (unsigned)strtoul((char[]){*digit, '\0'}, NULL, 16) ^ 1U << bit % 4;
        *digit = "0123456789abcdef"[value];
        struct keys *keys = parse(text, NULL, &err);
        ck_assert_ptr_null(find(keys, "k"));
        keys_close(keys);
    }
}
END_TEST

START_TEST(hashes_may_be_written_in_capitals)
{
    char text[128];
    struct err err;
    snprintf(text, sizeof text, "%s one predict", hash_of("k"));
    for (char *at = text + strlen("sha256:"); *at != ' '; at++)
        *at = (char)(*at >= 'a' ? *at - 'a' + 'A' : *at);
    struct keys *keys = parse(text, NULL, &err);
    ck_assert_ptr_nonnull(find(keys, "k"));
    keys_close(keys);
}
END_TEST

START_TEST(scopes_are_those_that_are_named)
{
    struct err err;
    struct keys *keys = parse_words("n predict,feedback,metrics,admin", &err);
    unsigned all =
        1U << SCOPE_PREDICT | 1U << SCOPE_FEEDBACK | 1U << SCOPE_METRICS | 1U << SCOPE_ADMIN;
    ck_assert_uint_eq(find(keys, "a")->scopes, all);
    keys_close(keys);
    keys = parse_words("n metrics", &err);
    ck_assert_uint_eq(find(keys, "a")->scopes, 1U << SCOPE_METRICS);
    keys_close(keys);
    ck_assert_str_eq(scope_name(SCOPE_FEEDBACK), "feedback");
    ck_assert_ptr_null(scope_name(SCOPE_OPEN));
    ck_assert_ptr_null(scope_name(SCOPE_UNSAID));
    ck_assert_ptr_null(scope_name(SCOPE_COUNT));
}
END_TEST

START_TEST(options_are_read_in_any_order)
{
    struct err err;
    struct keys *keys = parse_words("n admin concurrency=7 rate=0.25/s expires=2024-02-29", &err);
    const struct key *key = find(keys, "a");
    ck_assert_uint_eq(key->limits.concurrency, 7);
    ck_assert_double_eq_tol(key->limits.rate, 0.25, 1e-12);
    ck_assert_int_eq(key->expires_s, 1709251200); /* 2024-03-01 00:00 UTC */
    keys_close(keys);
    keys = parse_words("n admin rate=1000000/s concurrency=65536", &err);
    ck_assert_ptr_null(keys); /* seven digits */
    keys = parse_words("n admin rate=999999.999/s concurrency=65536", &err);
    ck_assert_double_eq_tol(find(keys, "a")->limits.rate, 999999.999, 1e-6);
    ck_assert_int_eq(find(keys, "a")->expires_s, INT64_MAX);
    keys_close(keys);
}
END_TEST

/* An error does not repeat the wrong text: it may be a key. */
static const struct {
    const char *words, *text;
} faults[] = {
    {"", "expected a hash, a name and scopes"},
    {"n", "expected a hash, a name and scopes"},
    {"n predict expires=2030-01-01 rate=1/s concurrency=1 x", "more than 6 words"},
    {"n predict a b c d e f g h i j k", "more than 6 words"},
    {"n/m predict", "word 2: a name must be 1 to 64 of A-Z a-z 0-9 . _ -"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab predict",
     "word 2: a name must be 1 to 64"},
    {"n predikt", "word 3: unknown scope; did you mean \"predict\"?"},
    {"n SECRET",
     "word 3: unknown scope; there is predict, feedback, metrics, admin, separated by commas"},
    {"n predict,", "word 3: unknown scope"},
    {"n ,predict", "word 3: unknown scope"},
    {"n Predict", "word 3: unknown scope; did you mean \"predict\"?"},
    {"n admin,predict,admin", "word 3: admin is there twice"},
    {"n admin expire=2030-01-01", "word 4: unknown; did you mean \"expires=\"?"},
    {"n admin SECRET", "word 4: expected expires=, rate=, concurrency= or nothing"},
    {"n admin rate=1/s rate=2/s", "word 5: rate= is there twice"},
    {"n admin rate", "word 4: expected rate=N/s"},
    {"n admin rate=", "word 4: expected rate=N/s"},
    {"n admin rate=0/s", "word 4: expected rate=N/s"},
    {"n admin rate=0.000/s", "word 4: expected rate=N/s"},
    {"n admin rate=-1/s", "word 4: expected rate=N/s"},
    {"n admin rate=1", "word 4: expected rate=N/s"},
    {"n admin rate=1/m", "word 4: expected rate=N/s"},
    {"n admin rate=1./s", "word 4: expected rate=N/s"},
    {"n admin rate=.5/s", "word 4: expected rate=N/s"},
    {"n admin rate=0.1234/s", "word 4: expected rate=N/s"},
    {"n admin rate=1e3/s", "word 4: expected rate=N/s"},
    {"n admin rate=inf/s", "word 4: expected rate=N/s"},
    {"n admin concurrency=0", "word 4: expected concurrency=N"},
    {"n admin concurrency=65537", "word 4: expected concurrency=N"},
    {"n admin concurrency=1x", "word 4: expected concurrency=N"},
    {"n admin concurrency=99999999999999999999", "word 4: expected concurrency=N"},
    {"n admin expires=2023-02-29", "word 4: expected expires=YYYY-MM-DD, a day of the calendar"},
    {"n admin expires=2030-13-01", "word 4: expected expires=YYYY-MM-DD"},
    {"n admin expires=2030-00-10", "word 4: expected expires=YYYY-MM-DD"},
    {"n admin expires=2030--1-01", "word 4: expected expires=YYYY-MM-DD"},
    {"n admin expires=2030-1-01x", "word 4: expected expires=YYYY-MM-DD"},
    {"n admin expires=2030-01-011", "word 4: expected expires=YYYY-MM-DD"},
    {"n admin expires=30-01-2011", "word 4: expected expires=YYYY-MM-DD"},
    {"n admin expires=never", "word 4: expected expires=YYYY-MM-DD"},
    {"n admin\001", "a control character"},
};

START_TEST(keys_errors_give_line_and_word_without_the_text)
{
    struct err err;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        ck_assert_msg(parse_words(faults[i].words, &err) == NULL, "%s", faults[i].words);
        ck_assert_int_eq(err.code, ERR_UNUSABLE);
        ck_assert_msg(strncmp(err.text, "keys:1: ", 8) == 0, "%s", err.text);
        ck_assert_msg(strncmp(err.text + 8, faults[i].text, strlen(faults[i].text)) == 0, "%s: %s",
                      faults[i].words, err.text);
        ck_assert_msg(strstr(err.text, "SECRET") == NULL, "%s", err.text);
    }
}
END_TEST

START_TEST(a_file_with_an_editors_mark_is_refused_for_it)
{
    static const char marked[] = "\xEF\xBB\xBFsha256:", wide[] = "s\0h\0a\0";
    struct keys *keys;
    struct err err = {0};
    ck_assert_int_eq(keys_parse(&keys, marked, sizeof marked - 1, "k", NULL, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "k begins with a byte order mark; it must be UTF-8 without one");
    err = (struct err){0};
    ck_assert_int_eq(keys_parse(&keys, wide, sizeof wide - 1, "k", NULL, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "k is UTF-16; it must be UTF-8");
}
END_TEST

START_TEST(a_first_word_that_is_no_hash_is_refused_and_not_repeated)
{
    static const char *const words[] = {
        "SECRET one predict",
        "sha256: one predict",
        "sha256:SECRET one predict",
        "SHA256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad one predict",
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a one predict",
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015adf one predict",
        "sha256:ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad one predict"};
    struct err err;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        ck_assert_msg(parse(words[i], NULL, &err) == NULL, "%s", words[i]);
        ck_assert_str_eq(err.text, "keys:1: word 1: expected sha256: and the 64 hexadecimal "
                                   "digits of the key's hash");
    }
}
END_TEST

START_TEST(keys_refuse_the_hash_of_the_empty_key)
{
    char text[128];
    struct err err;
    snprintf(text, sizeof text, "# why\n%s one predict", hash_of(""));
    ck_assert_ptr_null(parse(text, NULL, &err));
    ck_assert_str_eq(err.text, "keys:2: word 1: the hash of an empty key");
}
END_TEST

START_TEST(one_key_stands_there_once_but_two_may_have_one_name)
{
    char text[512];
    struct err err;
    snprintf(text, sizeof text, "%s n predict\n%s n admin\n", hash_of("old"), hash_of("new"));
    struct keys *keys = parse(text, NULL, &err);
    ck_assert_uint_eq(keys_count(keys), 2);
    keys_close(keys);
    snprintf(text, sizeof text, "\n%s n predict\n%s m admin\n", hash_of("k"), hash_of("k"));
    ck_assert_ptr_null(parse(text, NULL, &err));
    ck_assert_str_eq(err.text, "keys:3: the same as in line 2");
}
END_TEST

START_TEST(certificates_are_found_by_name_and_not_by_a_key)
{
    char text[512];
    struct err err;
    snprintf(text, sizeof text, "%s ours predict\ncert:a.fab a predict\ncert:b.fab b metrics",
             hash_of("k"));
    struct keys *keys = parse(text, NULL, &err), *again = parse(text, keys, &err);
    static const char *const names[] = {"c.fab", "B.fab", "b.fab", "a.fab"};
    ck_assert_str_eq(keys_find_certificate(keys, names, 4)->name, "b");
    ck_assert_str_eq(keys_find_certificate(keys, names + 3, 1)->name, "a");
    ck_assert_ptr_null(keys_find_certificate(keys, names, 2));
    ck_assert_ptr_null(keys_find_certificate(keys, NULL, 0));
    ck_assert_ptr_null(find(keys, "a.fab"));
    ck_assert_ptr_null(find(keys, "cert:a.fab"));
    ck_assert_str_eq(find(keys, "k")->name, "ours");
    ck_assert(keys_have_certificates(keys) && !keys_have_certificates(NULL));
    for (unsigned i = 0; i < 3; i++)
        ck_assert_ptr_eq(keys_at(keys, i)->meter, keys_at(again, i)->meter);
    keys_close(again);
    keys_close(keys);
    ck_assert_ptr_null(parse("cert:a a predict\ncert:a b admin", NULL, &err));
    ck_assert_str_eq(err.text, "keys:2: the same as in line 1");
    ck_assert_ptr_null(parse("cert: a predict", NULL, &err));
    ck_assert_str_eq(err.text, "keys:1: word 1: a certificate's name must be 1 to 255 bytes "
                               "without blanks");
}
END_TEST

START_TEST(a_file_without_a_key_lets_nobody_in)
{
    struct err err;
    static const char *const texts[] = {"", "\n\n", "# none\n", " \t\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct keys *keys = parse(texts[i], NULL, &err);
        ck_assert_ptr_nonnull(keys);
        ck_assert_uint_eq(keys_count(keys), 0);
        ck_assert_ptr_null(find(keys, ""));
        keys_close(keys);
    }
}
END_TEST

START_TEST(keys_have_a_limited_count)
{
    size_t size = (KEYS_MAX + 1) * 96, len = 0;
    char *text = calloc(1, size);
    struct err err;
    for (int i = 0; i < KEYS_MAX + 1; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        len += (size_t)snprintf(text + len, size - len, "%s %s predict\n", hash_of(name), name);
    }
    ck_assert_ptr_null(parse(text, NULL, &err));
    ck_assert_str_eq(err.text, "keys:1025: more than 1024 keys");
    *strstr(text, hash_of("k1024")) = '#';
    struct keys *keys = parse(text, NULL, &err);
    ck_assert_uint_eq(keys_count(keys), KEYS_MAX);
    ck_assert_str_eq(find(keys, "k0")->name, "k0");
    ck_assert_str_eq(find(keys, "k1023")->name, "k1023");
    keys_close(keys);
    free(text);
}
END_TEST

START_TEST(keys_keep_their_meters_in_the_next_set)
{
    double wait_s;
    struct err err;
    char text[256];
    snprintf(text, sizeof text, "%s n predict concurrency=1\n", hash_of("k"));
    struct keys *old = parse(text, NULL, &err);
    const struct key *key = find(old, "k");
    ck_assert_int_eq(meter_take(key->meter, &key->limits, 0, &wait_s), METER_TAKEN);
    snprintf(text, sizeof text, "%s other metrics concurrency=2\n", hash_of("k"));
    struct keys *next = parse(text, old, &err), *apart = parse(text, NULL, &err);
    ck_assert_ptr_eq(find(next, "k")->meter, key->meter);
    ck_assert_ptr_ne(find(apart, "k")->meter, key->meter);
    struct meter *meter = key->meter;
    keys_close(old);
    key = find(next, "k");
    ck_assert_int_eq(meter_take(meter, &key->limits, 0, &wait_s), METER_TAKEN);
    ck_assert_int_eq(meter_take(meter, &key->limits, 0, &wait_s), METER_CONCURRENCY);
    keys_close(apart);
    keys_close(next);
}
END_TEST

START_TEST(sets_are_the_same_if_their_texts_are)
{
    struct err err;
    struct keys *a = parse("# a", NULL, &err), *b = parse("# b", NULL, &err);
    struct keys *c = parse("# a", NULL, &err);
    ck_assert(keys_are_same(a, c) && !keys_are_same(a, b));
    ck_assert(!keys_are_same(a, NULL) && !keys_are_same(NULL, a) && keys_are_same(NULL, NULL));
    keys_close(a);
    keys_close(b);
    keys_close(c);
}
END_TEST

START_TEST(a_file_is_named_without_its_directory)
{
    struct tempdir dir;
    struct keys *keys;
    struct err err = {0};
    char path[256];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/ours", dir.path);
    ck_assert_int_eq(keys_read(&keys, path, NULL, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "keys_file: ours: cannot be opened: No such file or directory");
    tempdir_write(&dir, "ours", "\nx", 2);
    err = (struct err){0};
    ck_assert_int_eq(keys_read(&keys, path, NULL, &err), ERR_UNUSABLE);
    ck_assert_msg(strncmp(err.text, "keys_file: ours:2: word 1: ", 27) == 0, "%s", err.text);
    char *much = calloc(1, KEYS_FILE_BYTES_MAX + 1);
    memset(much, '\n', KEYS_FILE_BYTES_MAX + 1);
    tempdir_write(&dir, "ours", much, KEYS_FILE_BYTES_MAX + 1);
    err = (struct err){0};
    ck_assert_int_eq(keys_read(&keys, path, NULL, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "keys_file: ours: larger than 524288 bytes");
    tempdir_write(&dir, "ours", much, KEYS_FILE_BYTES_MAX);
    err = (struct err){0};
    ck_assert_int_eq(keys_read(&keys, path, NULL, &err), ERR_OK);
    ck_assert_str_eq(err.text, "");
    keys_close(keys);
    free(much);
    tempdir_close(&dir);
}
END_TEST

START_TEST(without_a_file_there_are_no_keys)
{
    struct keys *keys;
    struct err err = {0};
    ck_assert_int_eq(keys_read(&keys, "", NULL, &err), ERR_OK);
    ck_assert_ptr_null(keys);
    ck_assert_int_eq(keys_read(&keys, NULL, NULL, &err), ERR_OK);
    ck_assert_ptr_null(keys);
    ck_assert_uint_eq(keys_count(keys), 0);
    keys_close(keys);
}
END_TEST

SUITE("keys", certificates_are_found_by_name_and_not_by_a_key,
      keys_are_found_by_what_was_hashed_and_by_nothing_else, every_bit_of_a_hash_counts,
      hashes_may_be_written_in_capitals, scopes_are_those_that_are_named,
      options_are_read_in_any_order, keys_errors_give_line_and_word_without_the_text,
      a_file_with_an_editors_mark_is_refused_for_it,
      a_first_word_that_is_no_hash_is_refused_and_not_repeated,
      keys_refuse_the_hash_of_the_empty_key, one_key_stands_there_once_but_two_may_have_one_name,
      a_file_without_a_key_lets_nobody_in, keys_have_a_limited_count,
      keys_keep_their_meters_in_the_next_set, sets_are_the_same_if_their_texts_are,
      a_file_is_named_without_its_directory, without_a_file_there_are_no_keys)
