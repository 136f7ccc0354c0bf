#include "server/audit/audit_chain.h"

#include "engine/base/clock.h"
#include "engine/base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_DIGITS = SHA256_HEX_BYTES - 1 };

static const char before_seq[] = "{\"seq\":";
enum { BEFORE_SEQ = sizeof before_seq - 1 };

void audit_chain_init(struct audit_chain *chain, struct audit_key key)
{
    *chain =
        (struct audit_chain){.key = key, .way = key.bytes != NULL ? AUDIT_KEYED_MAC : AUDIT_PLAIN};
    memset(chain->head, '0', HASH_DIGITS);
}

/* Makes the key of the bytes that were read, without the line ends behind them. */
static enum err_code take_key(struct audit_key *out, char *bytes, const char *path, struct err *err)
{
    if (err->code != ERR_OK) {
        *out = (struct audit_key){0};
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

enum err_code audit_key_read(struct audit_key *out, const char *path, struct err *err)
{
    char *bytes;
    file_read(&bytes, &out->len, path, AUDIT_KEY_BYTES_MAX, err);
    return take_key(out, bytes, path, err);
}

enum err_code audit_key_read_given(struct audit_key *out, const char *path, struct err *err)
{
    char *bytes;
    file_read_given(&bytes, &out->len, path, AUDIT_KEY_BYTES_MAX, err);
    return take_key(out, bytes, path, err);
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
    const size_t size = len + AUDIT_SEAL_BYTES;
    clock_utc(now);
    chain->seq++;
    int head = snprintf(out, size, "%s%" PRIu64 ",\"time\":\"%s\",", before_seq, chain->seq, now);
    memcpy(out + head, members, len);
    size_t line = (size_t)head + len;
    line += (size_t)snprintf(out + line, size - line, ",\"prev\":\"%s\"", chain->head);
    if (chain->way == AUDIT_KEYED_MAC) {
        hash(&chain->key, out, line, chain->head);
        return line + (size_t)snprintf(out + line, size - line, ",\"mac\":\"%s\"}\n", chain->head);
    }
    out[line++] = '}';
    hash(&chain->key, out, line, chain->head);
    out[line++] = '\n';
    return line;
}

enum err_code audit_chain_read_begin(const char *line, enum audit_way *way, struct err *err)
{
    static const char begin[] = "\"type\":\"begin\",\"format\":";
    const char *type = strstr(line, begin);
    unsigned long format = type != NULL ? strtoul(type + sizeof begin - 1, NULL, 10) : 0;
    if (format == 0)
        return err_set(err, ERR_MALFORMED, "this is not the first line of an audit log's file");
    if (format > AUDIT_FORMAT)
        return err_set(err, ERR_UNSUPPORTED, "written by a newer attnd (format %lu, known is %d)",
                       format, AUDIT_FORMAT);
    const bool is_keyed = strstr(type, "\"chain\":\"hmac-sha256\"") != NULL;
    *way = !is_keyed ? AUDIT_PLAIN : format == 1 ? AUDIT_KEYED : AUDIT_KEYED_MAC;
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

/* The digits of ,"NAME":"DIGITS" at the end of line[*len], which then ends before it; NULL: it has
 * none. */
static const char *take_last(const char *line, size_t *len, const char *name)
{
    char before[16];
    const size_t frame = (size_t)snprintf(before, sizeof before, ",\"%s\":\"", name);
    if (*len < BEFORE_SEQ + frame + HASH_DIGITS + 1 || line[*len - 1] != '"')
        return NULL;
    const char *digits = line + *len - 1 - HASH_DIGITS;
    if (memcmp(digits - frame, before, frame) != 0 ||
        strspn(digits, "0123456789abcdef") != HASH_DIGITS)
        return NULL;
    *len = (size_t)(digits - frame - line);
    return digits;
}

/* The members of a line that chain it to the one before. */
struct seal {
    uint64_t seq;
    const char *prev, *mac; /* digits; mac NULL: it has none */
    size_t hashed;          /* bytes of the line that its hash is of */
};

static enum err_code read_seal(struct seal *out, const char *line, size_t len, struct err *err)
{
    size_t rest = len > 0 && line[len - 1] == '}' ? len - 1 : 0;
    *out = (struct seal){.seq = seq_of(line, len), .hashed = len};
    out->mac = take_last(line, &rest, "mac");
    if (out->mac != NULL)
        out->hashed = rest;
    out->prev = take_last(line, &rest, "prev");
    if (out->prev == NULL || out->seq == 0)
        return err_set(err, ERR_MALFORMED, "this is no line of an audit log");
    return ERR_OK;
}

/* The chain with the line, if that is made in the chain's way. */
static enum err_code accept(struct audit_chain *chain, const struct seal *seal, const char *line,
                            struct err *err)
{
    char found[SHA256_HEX_BYTES];
    if ((seal->mac != NULL) != (chain->way == AUDIT_KEYED_MAC))
        return err_set(err, ERR_MALFORMED, "it has %s \"mac\", unlike its file's first line",
                       seal->mac != NULL ? "a" : "no");
    hash(&chain->key, line, seal->hashed, found);
    if (seal->mac != NULL && memcmp(seal->mac, found, HASH_DIGITS) != 0)
        return err_set(err, ERR_MALFORMED,
                       "its \"mac\" does not match this key: the line was changed, or written with "
                       "another key");
    chain->seq = seal->seq;
    memcpy(chain->head, found, sizeof found);
    return ERR_OK;
}

enum err_code audit_chain_follow(struct audit_chain *chain, const char *line, size_t len,
                                 struct err *err)
{
    struct seal seal;
    if (read_seal(&seal, line, len, err))
        return err->code;
    if (seal.seq != chain->seq + 1)
        return err_set(err, ERR_MALFORMED,
                       "its number is %" PRIu64 ", the line before has %" PRIu64, seal.seq,
                       chain->seq);
    if (memcmp(seal.prev, chain->head, HASH_DIGITS) != 0)
        return err_set(
            err, ERR_MALFORMED,
            "its \"prev\" is not the hash of the line before: one of the two was changed, "
            "or written with another key");
    return accept(chain, &seal, line, err);
}

enum err_code audit_chain_believe(struct audit_chain *chain, const char *line, size_t len,
                                  struct err *err)
{
    struct seal seal;
    return read_seal(&seal, line, len, err) ? err->code : accept(chain, &seal, line, err);
}

enum err_code audit_chain_turn(struct audit_chain *chain, enum audit_way way, struct audit_key key,
                               const char *line, size_t len, struct err *err)
{
    struct seal seal;
    if (read_seal(&seal, line, len, err))
        return err->code;
    chain->way = way;
    chain->key = key;
    hash(&chain->key, line, seal.hashed, chain->head);
    return ERR_OK;
}
