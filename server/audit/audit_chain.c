#include "server/audit/audit_chain.h"

#include "engine/base/clock.h"
#include "engine/base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_DIGITS = SHA256_HEX_BYTES - 1 };

static const char before_seq[] = "{\"seq\":", before_prev[] = ",\"prev\":\"", ending[] = "\"}";
enum {
    BEFORE_SEQ = sizeof before_seq - 1,
    TAIL = sizeof before_prev - 1 + HASH_DIGITS + sizeof ending - 1,
};

void audit_chain_init(struct audit_chain *chain, struct audit_key key)
{
    *chain = (struct audit_chain){.key = key};
    memset(chain->head, '0', HASH_DIGITS);
}

enum err_code audit_key_read(struct audit_key *out, const char *path, struct err *err)
{
    char *bytes;
    *out = (struct audit_key){0};
    if (file_read(&bytes, &out->len, path, AUDIT_KEY_BYTES_MAX, err)) {
        err->code = ERR_UNUSABLE;
        return err_prefix(err, "%s: ", path);
    }
    out->bytes = bytes;
    while (out->len > 0 && (bytes[out->len - 1] == '\n' || bytes[out->len - 1] == '\r'))
        out->len--;
    if (out->len >= AUDIT_KEY_BYTES_MIN)
        return ERR_OK;
    err_set(err, ERR_UNUSABLE, "%s: the key has %zu bytes, at least %d are needed", path, out->len,
            AUDIT_KEY_BYTES_MIN);
    audit_key_forget(out);
    return err->code;
}

void audit_key_forget(struct audit_key *key)
{
    char *bytes = (char *)(uintptr_t)key->bytes;
    if (bytes != NULL)
        explicit_bzero(bytes, key->len);
    free(bytes);
    *key = (struct audit_key){0};
}

static void hash(const struct audit_key *key, const char *line, size_t len,
                 char out[SHA256_HEX_BYTES])
{
    if (key->bytes == NULL)
        sha256_hex(line, len, out);
    else
        sha256_hmac_hex(key->bytes, key->len, line, len, out);
}

size_t audit_chain_seal(struct audit_chain *chain, const char *members, size_t len, char *out)
{
    char now[CLOCK_UTC_BYTES];
    clock_utc(now);
    chain->seq++;
    int head = sprintf(out, "%s%" PRIu64 ",\"time\":\"%s\",", before_seq, chain->seq, now);
    memcpy(out + head, members, len);
    size_t line = (size_t)head + len;
    line += (size_t)sprintf(out + line, "%s%s%s", before_prev, chain->head, ending);
    hash(&chain->key, out, line, chain->head);
    out[line++] = '\n';
    return line;
}

enum err_code audit_chain_read_begin(const char *line, bool *is_keyed, struct err *err)
{
    static const char begin[] = "\"type\":\"begin\",\"format\":";
    const char *type = strstr(line, begin);
    unsigned long format = type != NULL ? strtoul(type + sizeof begin - 1, NULL, 10) : 0;
    if (format == 0)
        return err_set(err, ERR_MALFORMED, "this is not the first line of an audit log's file");
    if (format > AUDIT_FORMAT)
        return err_set(err, ERR_UNSUPPORTED, "written by a newer attnd (format %lu, known is %d)",
                       format, AUDIT_FORMAT);
    *is_keyed = strstr(type, "\"chain\":\"hmac-sha256\"") != NULL;
    return ERR_OK;
}

/* The number of the line; 0: it has none that we write. */
static uint64_t seq_of(const char *line, size_t len)
{
    uint64_t seq = 0;
    size_t at = BEFORE_SEQ;
    if (len < BEFORE_SEQ || memcmp(line, before_seq, BEFORE_SEQ) != 0)
        return 0;
    for (; at < len && line[at] >= '0' && line[at] <= '9' && seq < UINT64_MAX / 10; at++)
        seq = seq * 10 + (uint64_t)(line[at] - '0');
    return at < len && line[at] == ',' && line[BEFORE_SEQ] != '0' ? seq : 0;
}

/* The digits of "prev", at the line's end; NULL: it has none. */
static const char *prev_of(const char *line, size_t len)
{
    if (len < BEFORE_SEQ + TAIL)
        return NULL;
    const char *tail = line + len - TAIL, *digits = tail + sizeof before_prev - 1;
    bool has_frame = memcmp(tail, before_prev, sizeof before_prev - 1) == 0 &&
                     memcmp(digits + HASH_DIGITS, ending, sizeof ending - 1) == 0;
    return has_frame && strspn(digits, "0123456789abcdef") == HASH_DIGITS ? digits : NULL;
}

enum err_code audit_chain_follow(struct audit_chain *chain, const char *line, size_t len,
                                 struct err *err)
{
    const char *prev = prev_of(line, len);
    uint64_t seq = seq_of(line, len);
    if (prev == NULL || seq == 0)
        return err_set(err, ERR_MALFORMED, "this is no line of an audit log");
    if (seq != chain->seq + 1)
        return err_set(err, ERR_MALFORMED,
                       "its number is %" PRIu64 ", the line before has %" PRIu64, seq, chain->seq);
    if (memcmp(prev, chain->head, HASH_DIGITS) != 0)
        return err_set(
            err, ERR_MALFORMED,
            "its \"prev\" is not the hash of the line before: one of the two was changed, "
            "or another key wrote them");
    chain->seq = seq;
    hash(&chain->key, line, len, chain->head);
    return ERR_OK;
}

enum err_code audit_chain_believe(struct audit_chain *chain, const char *line, size_t len,
                                  struct err *err)
{
    uint64_t seq = seq_of(line, len);
    if (prev_of(line, len) == NULL || seq == 0)
        return err_set(err, ERR_MALFORMED, "this is no line of an audit log");
    chain->seq = seq;
    hash(&chain->key, line, len, chain->head);
    return ERR_OK;
}
