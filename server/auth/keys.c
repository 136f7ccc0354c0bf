/* keys.c - see keys.h. Words of a line are cut in a copy of the text that the set keeps, so a key's
 * name needs no memory of its own. Hash, name, scopes and options are each read by a function that
 * says what it expects. */
#include "server/auth/keys.h"

#include "engine/base/arena.h"
#include "engine/base/file.h"
#include "engine/base/nearest.h"
#include "engine/base/sha256.h"
#include "engine/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HASH_DIGITS = 64, WORDS_MAX = 8, DAY_S = 24 * 60 * 60 };

struct keys {
    struct arena arena; /* holds what follows */
    struct key *list;   /* [count], room for KEYS_MAX */
    unsigned count;
    char digest[SHA256_HEX_BYTES]; /* SHA-256 of the text */
};

/* ---- scopes ---- */

const char *scope_name(enum scope scope)
{
    static const char *const names[SCOPE_COUNT] = {
#define X(scope, name) [SCOPE_##scope] = name,
        SCOPES(X)
#undef X
    };
    return (unsigned)scope < SCOPE_COUNT ? names[scope] : NULL;
}

#define X(scope, name) name,
static const char *const scope_names[] = {SCOPES(X)};
#undef X
enum { SCOPE_NAMES = sizeof scope_names / sizeof scope_names[0] };

/* ---- hashes ---- */

/* Value of a digit 0-9 a-f A-F, without a branch: the hash of the bytes that a client sent is
 * secret, too. */
static uint64_t digit_value(char digit)
{
    unsigned value = (unsigned char)digit;
    return (value & 15) + (value >> 6) * 9;
}

static void words_of(const char digits[HASH_DIGITS], uint64_t out[4])
{
    for (unsigned i = 0; i < HASH_DIGITS; i++)
        out[i / 16] = out[i / 16] << 4 | digit_value(digits[i]);
}

/* 1 if they are the same, else 0. */
static uint64_t same_hash(const uint64_t a[4], const uint64_t b[4])
{
    uint64_t apart = (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]);
    return 1 ^ ((apart | (0 - apart)) >> 63);
}

/* All hashes are compared, all words of each, without a branch on the outcome. Whoever sends keys
 * knows their hashes: with an early exit the time of the answer would tell how many leading bits of
 * a stored hash are right, and so say offline which guesses are worth sending. */
const struct key *keys_find(const struct keys *keys, const char *sent, size_t len)
{
    char digits[SHA256_HEX_BYTES];
    uint64_t hash[4] = {0}, found = 0;
    sha256_hex(sent, len, digits);
    words_of(digits, hash);
    for (unsigned i = 0; i < keys->count; i++) {
        const struct key *key = &keys->list[i];
        uint64_t is_key = key->certificate == NULL;
        found |= (0 - (same_hash(hash, key->hash) & is_key)) & (i + 1);
    }
    return found != 0 ? &keys->list[found - 1] : NULL;
}

/* ---- certificates ---- */

static const struct key *find_certificate(const struct keys *keys, const char *name)
{
    for (unsigned i = 0; i < keys->count; i++)
        if (keys->list[i].certificate != NULL && strcmp(keys->list[i].certificate, name) == 0)
            return &keys->list[i];
    return NULL;
}

const struct key *keys_find_certificate(const struct keys *keys, const char *const *names,
                                        unsigned count)
{
    const struct key *found = NULL;
    for (unsigned i = 0; i < count && found == NULL; i++)
        found = find_certificate(keys, names[i]);
    return found;
}

bool keys_have_certificates(const struct keys *keys)
{
    bool have = false;
    for (unsigned i = 0; i < keys_count(keys); i++)
        have = have || keys->list[i].certificate != NULL;
    return have;
}

/* The line of the set for the same key or certificate. */
static const struct key *find_twin(const struct keys *keys, const struct key *key)
{
    if (keys != NULL && key->certificate != NULL)
        return find_certificate(keys, key->certificate);
    for (unsigned i = 0; keys != NULL && i < keys->count; i++)
        if (keys->list[i].certificate == NULL && same_hash(keys->list[i].hash, key->hash))
            return &keys->list[i];
    return NULL;
}

/* ---- the words of a line ---- */

static enum err_code read_hash(struct key *key, const char *word, struct err *err)
{
    static const char scheme[] = "sha256:";
    const size_t scheme_len = sizeof scheme - 1;
    const char *digits = word + scheme_len;
    if (strncmp(word, scheme, scheme_len) != 0 || strlen(digits) != HASH_DIGITS ||
        strspn(digits, "0123456789abcdefABCDEF") != HASH_DIGITS)
        return err_set(err, ERR_UNUSABLE,
                       "word 1: expected sha256: and the %d hexadecimal digits of the key's hash",
                       HASH_DIGITS);
    words_of(digits, key->hash);
    /* sha256sum prints the hash of no bytes if the variable with the key was not set. */
    char none[SHA256_HEX_BYTES];
    uint64_t nothing[4] = {0};
    sha256_hex("", 0, none);
    words_of(none, nothing);
    if (same_hash(key->hash, nothing))
        return err_set(err, ERR_UNUSABLE, "word 1: the hash of an empty key");
    return ERR_OK;
}

/* A certificate's name has no blank; who may ask for which name is for the authorities to say. */
static enum err_code read_certificate(struct key *key, const char *name, struct err *err)
{
    size_t len = strlen(name);
    if (len == 0 || len > KEYS_CERTIFICATE_BYTES_MAX)
        return err_set(err, ERR_UNUSABLE,
                       "word 1: a certificate's name must be 1 to %d bytes without blanks",
                       KEYS_CERTIFICATE_BYTES_MAX);
    key->certificate = name;
    return ERR_OK;
}

static enum err_code unknown_scope(const char *name, struct err *err)
{
    const char *near = nearest_name(name, scope_names, SCOPE_NAMES);
    char known[96] = "";
    for (size_t i = 0; i < SCOPE_NAMES; i++)
        nearest_list(known, sizeof known, scope_names[i]);
    if (near != NULL)
        return err_set(err, ERR_UNUSABLE, "word 3: unknown scope; did you mean \"%s\"?", near);
    return err_set(err, ERR_UNUSABLE, "word 3: unknown scope; there is %s, separated by commas",
                   known);
}

static enum err_code read_scopes(struct key *key, char *word, struct err *err)
{
    for (char *next = word; next != NULL;) {
        char *name = strsep(&next, ",");
        size_t i = 0;
        while (i < SCOPE_NAMES && strcmp(name, scope_names[i]) != 0)
            i++;
        if (i == SCOPE_NAMES)
            return unknown_scope(name, err);
        unsigned bit = 1U << (SCOPE_OPEN + 1 + i);
        if ((key->scopes & bit) != 0)
            return err_set(err, ERR_UNUSABLE, "word 3: %s is there twice", scope_names[i]);
        key->scopes |= bit;
    }
    return ERR_OK;
}

/* The digits at *text, at most six of them, as a number; -1: there are none, or too many. */
static long read_digits(const char **text)
{
    long value = 0;
    size_t len = strspn(*text, "0123456789");
    if (len == 0 || len > 6)
        return -1;
    for (size_t i = 0; i < len; i++)
        value = 10 * value + ((*text)[i] - '0');
    *text += len;
    return value;
}

/* A day that there is; a key is taken to its end, in UTC. */
static bool read_expires(struct key *key, const char *value)
{
    struct tm day = {0}, again;
    int end = 0;
    if (strlen(value) != 10 || strspn(value, "0123456789-") != 10 || value[4] != '-' ||
        value[7] != '-' ||
        sscanf(value, "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &end) != 3 ||
        end != 10)
        return false;
    day.tm_year -= 1900;
    day.tm_mon -= 1;
    again = day;
    time_t start = timegm(&again);
    if (again.tm_year != day.tm_year || again.tm_mon != day.tm_mon || again.tm_mday != day.tm_mday)
        return false;
    key->expires_s = (int64_t)start + DAY_S;
    return true;
}

/* "5/s", "0.5/s": up to three digits behind the point. */
static bool read_rate(struct key *key, const char *value)
{
    long whole = read_digits(&value);
    double rate = (double)whole;
    if (whole < 0)
        return false;
    if (*value == '.') {
        value++;
        size_t digits = strspn(value, "0123456789");
        double unit = digits == 1 ? 0.1 : digits == 2 ? 0.01 : 0.001;
        if (digits > 3)
            return false;
        long part = read_digits(&value);
        if (part < 0)
            return false;
        rate += (double)part * unit;
    }
    key->limits.rate = rate;
    return rate > 0 && rate <= KEYS_RATE_MAX && strcmp(value, "/s") == 0;
}

static bool read_concurrency(struct key *key, const char *value)
{
    long count = read_digits(&value);
    key->limits.concurrency = (unsigned)(count > 0 ? count : 0);
    return count >= 1 && count <= KEYS_CONCURRENCY_MAX && *value == '\0';
}

static const struct option {
    const char *name;
    bool (*read)(struct key *key, const char *value);
    const char *expected;
} options[] = {
    {"expires", read_expires, "expires=YYYY-MM-DD, a day of the calendar"},
    {"rate", read_rate, "rate=N/s, from 0.001 to 999999.999 requests a second"},
    {"concurrency", read_concurrency, "concurrency=N, from 1 to 65536 requests at once"},
};
enum { OPTIONS = sizeof options / sizeof options[0] };

static enum err_code unknown_option(const char *name, unsigned place, struct err *err)
{
    const char *names[OPTIONS];
    for (size_t i = 0; i < OPTIONS; i++)
        names[i] = options[i].name;
    const char *near = nearest_name(name, names, OPTIONS);
    return near != NULL
               ? err_set(err, ERR_UNUSABLE, "word %u: unknown; did you mean \"%s=\"?", place, near)
               : err_set(err, ERR_UNUSABLE,
                         "word %u: expected expires=, rate=, concurrency= or nothing", place);
}

static enum err_code read_option(struct key *key, char *word, unsigned place, unsigned *given,
                                 struct err *err)
{
    char *value = word + strcspn(word, "=");
    bool has_value = *value == '=';
    if (has_value)
        *value++ = '\0';
    size_t i = 0;
    while (i < OPTIONS && strcmp(word, options[i].name) != 0)
        i++;
    if (i == OPTIONS)
        return unknown_option(word, place, err);
    if ((*given & 1U << i) != 0)
        return err_set(err, ERR_UNUSABLE, "word %u: %s= is there twice", place, options[i].name);
    *given |= 1U << i;
    if (!has_value || !options[i].read(key, value))
        return err_set(err, ERR_UNUSABLE, "word %u: expected %s", place, options[i].expected);
    return ERR_OK;
}

/* ---- lines ---- */

static enum err_code read_words(struct key *key, char *const *words, unsigned count,
                                struct err *err)
{
    unsigned given = 0;
    key->expires_s = INT64_MAX;
    static const char scheme[] = "cert:";
    const size_t scheme_len = sizeof scheme - 1;
    if (strncmp(words[0], scheme, scheme_len) == 0
            ? read_certificate(key, words[0] + scheme_len, err)
            : read_hash(key, words[0], err))
        return err->code;
    if (count < 3)
        return err_set(err, ERR_UNUSABLE, "expected a hash, a name and scopes");
    if (count > 3 + OPTIONS)
        return err_set(err, ERR_UNUSABLE, "more than %d words", 3 + OPTIONS);
    size_t len =
        strspn(words[1], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    if (words[1][len] != '\0' || len > KEYS_NAME_BYTES_MAX)
        return err_set(err, ERR_UNUSABLE, "word 2: a name must be 1 to %d of A-Z a-z 0-9 . _ -",
                       KEYS_NAME_BYTES_MAX);
    key->name = words[1];
    if (read_scopes(key, words[2], err))
        return err->code;
    for (unsigned i = 3; i < count && err->code == ERR_OK; i++)
        read_option(key, words[i], i + 1, &given, err);
    return err->code;
}

static bool has_control(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)line[i] < 0x20 && line[i] != '\t' && line[i] != '\r') ||
            line[i] == 0x7F)
            return true;
    return false;
}

static enum err_code read_line(struct keys *keys, char *line, size_t len, unsigned number,
                               const struct keys *before, struct err *err)
{
    char *words[WORDS_MAX];
    struct key key = {.line = number};
    if (has_control(line, len))
        return err_set(err, ERR_UNUSABLE, "a control character");
    /* words up to a comment; WORDS_MAX means: too many */
    unsigned count = 0;
    for (char *next = line; next != NULL && count < WORDS_MAX;) {
        char *word = strsep(&next, " \t\r");
        if (*word == '#')
            break;
        if (*word != '\0')
            words[count++] = word;
    }
    if (count == 0 || read_words(&key, words, count, err))
        return err->code;
    const struct key *twin = find_twin(keys, &key);
    if (twin != NULL)
        return err_set(err, ERR_UNUSABLE, "the same as in line %u", twin->line);
    if (keys->count == KEYS_MAX)
        return err_set(err, ERR_UNUSABLE, "more than %d keys", KEYS_MAX);
    const struct key *old = find_twin(before, &key);
    struct meter *meter = old != NULL ? meter_share(old->meter) : meter_open();
    if (meter == NULL)
        return err_no_memory(err, sizeof key);
    keys->list[keys->count] = key;
    keys->list[keys->count++].meter = meter;
    return ERR_OK;
}

static enum err_code read_lines(struct keys *keys, char *text, size_t len, const char *name,
                                const struct keys *before, struct err *err)
{
    unsigned number = 1;
    for (size_t at = 0; at < len && err->code == ERR_OK; number++) {
        char *line = text + at, *end = memchr(line, '\n', len - at);
        size_t line_len = end != NULL ? (size_t)(end - line) : len - at;
        line[line_len] = '\0';
        if (read_line(keys, line, line_len, number, before, err))
            return err_prefix(err, "%s:%u: ", name, number);
        at += line_len + 1;
    }
    return err->code;
}

/* ---- the whole ---- */

enum err_code keys_parse(struct keys **out, const char *text, size_t len, const char *name,
                         const struct keys *before, struct err *err)
{
    struct keys *keys = calloc(1, sizeof *keys);
    *out = NULL;
    if (keys == NULL)
        return err_no_memory(err, sizeof *keys);
    arena_init(&keys->arena);
    sha256_hex(text, len, keys->digest);
    keys->list = arena_alloc_array(&keys->arena, KEYS_MAX, sizeof *keys->list);
    char *copy = arena_copy(&keys->arena, text, len);
    const char *fault = utf8_fault_of_mark(text, len);
    if (keys->list == NULL || copy == NULL)
        err_no_memory(err, len);
    else if (fault != NULL)
        err_set(err, ERR_UNUSABLE, "%s %s", name, fault);
    else
        read_lines(keys, copy, len, name, before, err);
    if (err->code != ERR_OK) {
        keys_close(keys);
        return err->code;
    }
    *out = keys;
    return ERR_OK;
}

enum err_code keys_read(struct keys **out, const char *path, const struct keys *before,
                        struct err *err)
{
    char *text;
    size_t len;
    *out = NULL;
    if (path == NULL || path[0] == '\0')
        return ERR_OK;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (file_read(&text, &len, path, KEYS_FILE_BYTES_MAX, err))
        err_prefix(err, "%s: ", name);
    else {
        keys_parse(out, text, len, name, before, err);
        free(text);
    }
    if (err->code == ERR_OK)
        return ERR_OK;
    if (err->code != ERR_NO_MEMORY)
        err->code = ERR_UNUSABLE;
    return err_prefix(err, "keys_file: ");
}

void keys_close(struct keys *keys)
{
    if (keys == NULL)
        return;
    for (unsigned i = 0; i < keys->count; i++)
        meter_release(keys->list[i].meter);
    arena_deinit(&keys->arena);
    free(keys);
}

unsigned keys_count(const struct keys *keys)
{
    return keys != NULL ? keys->count : 0;
}

const struct key *keys_at(const struct keys *keys, unsigned index)
{
    return &keys->list[index];
}

bool keys_are_same(const struct keys *a, const struct keys *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a->digest, b->digest) == 0;
}
