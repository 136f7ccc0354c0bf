/* audit_chain.h - lines of an audit log, each of which carries a hash of the one before.
 *
 *     {"seq":7,"time":"2026-11-22T17:36:45.235Z","type":"prediction",...,"prev":"<64 digits>"}
 *     {"seq":8,...,"prev":"<64 digits>","mac":"<64 digits>"}                        with a key
 *
 * "seq" counts the lines from 1, over all files. A file begins with a line of type "begin", which
 * says how its lines are made. There are three ways, from the weakest to the strongest:
 *
 *     AUDIT_PLAIN      format 1, sha256: "prev" is the SHA-256 of the line before, without its end
 *     AUDIT_KEYED      format 1, hmac-sha256: "prev" is the HMAC-SHA-256 (RFC 2104) of the line
 *                      before; older attnd wrote it, this one only reads it
 *     AUDIT_KEYED_MAC  format 2, hmac-sha256: "mac" is the HMAC of its own line up to it, and
 *                      "prev" the "mac" of the line before
 *
 * "prev" is 64 zeros in the first line of all. In the first line of a file it is made as that file
 * says, also if the file before was made in another way.
 *
 * A line that was changed, removed, added or moved between others breaks the chain at the line
 * behind it. Who has no key can remove lines at the end. Of AUDIT_PLAIN such a person can write
 * any log, of AUDIT_KEYED the last line, and of AUDIT_KEYED_MAC no line. So a log never goes on in
 * a weaker way: audit_read and audit_files_open refuse that. Against a missing end helps a head
 * (the newest line's hash) that was kept elsewhere.
 *
 * Threads: a chain belongs to one thread at a time; the key is borrowed and constant.
 */
#ifndef ATTND_SERVER_AUDIT_AUDIT_CHAIN_H
#define ATTND_SERVER_AUDIT_AUDIT_CHAIN_H

#include "engine/base/err.h"
#include "engine/base/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    AUDIT_FORMAT = 2,                 /* the newest that is known */
    AUDIT_LINE_BYTES_MAX = 64 * 1024, /* with the end of line */
    AUDIT_SEAL_BYTES = 256,           /* what a sealed line has more than its members, at most */
};

enum audit_way { AUDIT_PLAIN, AUDIT_KEYED, AUDIT_KEYED_MAC };

struct audit_key {
    const void *bytes; /* NULL: none, "prev" is a plain SHA-256 */
    size_t len;
};

enum { AUDIT_KEY_BYTES_MIN = 16, AUDIT_KEY_BYTES_MAX = 4096 };

/* All bytes of the file but an end of line behind them, which editors leave. Yours to forget. The
 * second reads a path of a command line (file_read_given). ERR_UNUSABLE begins with the path: it
 * cannot be read, or has too few or too many bytes. */
enum err_code audit_key_read(struct audit_key *out, const char *path, struct err *err);
enum err_code audit_key_read_given(struct audit_key *out, const char *path, struct err *err);
void audit_key_forget(struct audit_key *key); /* one that was read; none is allowed */

struct audit_chain {
    struct audit_key key; /* none of AUDIT_PLAIN */
    enum audit_way way;
    uint64_t seq;                /* of the newest line; 0: there is none */
    char head[SHA256_HEX_BYTES]; /* its hash; of none 64 zeros */
};

/* In the strongest way that there is with the key. */
void audit_chain_init(struct audit_chain *chain, struct audit_key key);

/* Puts the next line into out[len + AUDIT_SEAL_BYTES], with its end of line, and becomes the chain
 * with it. `members` are JSON members without a brace: "\"type\":\"reload\"". Returns its bytes. */
size_t audit_chain_seal(struct audit_chain *chain, const char *members, size_t len, char *out);

/* Is line[len], without its end of line, the next? The chain then is the one with it. ERR_MALFORMED
 * says what is wrong: no such line, another number, another hash, another "mac". */
enum err_code audit_chain_follow(struct audit_chain *chain, const char *line, size_t len,
                                 struct err *err);

/* Reads a file's first line, NUL-terminated. ERR_MALFORMED: it is none; ERR_UNSUPPORTED: a newer
 * attnd's. */
enum err_code audit_chain_read_begin(const char *line, enum audit_way *way, struct err *err);

/* Begins a chain at a line that is believed, made in the chain's way: of the oldest file that is
 * kept, or of the end of a log that goes on. ERR_MALFORMED: no such line, or its "mac" is not the
 * key's. */
enum err_code audit_chain_believe(struct audit_chain *chain, const char *line, size_t len,
                                  struct err *err);

/* The chain, whose newest line is line[len], goes on in another way and with another key. */
enum err_code audit_chain_turn(struct audit_chain *chain, enum audit_way way, struct audit_key key,
                               const char *line, size_t len, struct err *err);

#endif
