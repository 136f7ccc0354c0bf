#include "engine/base/sha256.h"

#include "engine/base/file.h"

#include <nettle/hmac.h>
#include <nettle/sha2.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 * 1024 }; /* stays in the second level cache */

struct hashing {
    struct sha256_ctx context;
    const atomic_bool *stop; /* NULL, or read between pieces; partner: the thread that sets it */
    uint8_t *piece;
};

static void write_hex(const uint8_t digest[SHA256_DIGEST_SIZE], char out[SHA256_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_DIGEST_SIZE; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * SHA256_DIGEST_SIZE] = '\0';
}

static void finish(struct sha256_ctx *context, char out[SHA256_HEX_BYTES])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(context, sizeof digest, digest);
    write_hex(digest, out);
}

void sha256_hex(const void *bytes, size_t len, char out[SHA256_HEX_BYTES])
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, len, bytes);
    finish(&context, out);
}

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(struct sha256_pieces), "the state has room");

void sha256_pieces_begin(struct sha256_pieces *pieces)
{
    sha256_init((struct sha256_ctx *)(void *)pieces->state);
}

void sha256_pieces_add(struct sha256_pieces *pieces, const void *bytes, size_t len)
{
    sha256_update((struct sha256_ctx *)(void *)pieces->state, len, bytes);
}

void sha256_pieces_end(struct sha256_pieces *pieces, char out[SHA256_HEX_BYTES])
{
    finish((struct sha256_ctx *)(void *)pieces->state, out);
}

void sha256_hmac_hex(const void *key, size_t key_len, const void *bytes, size_t len,
                     char out[SHA256_HEX_BYTES])
{
    struct hmac_sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    hmac_sha256_set_key(&context, key_len, key);
    hmac_sha256_update(&context, len, bytes);
    hmac_sha256_digest(&context, sizeof digest, digest);
    write_hex(digest, out);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static enum err_code add_file(struct hashing *hashing, const char *path, struct err *err)
{
    int fd;
    if (file_open(&fd, path, err))
        return err_prefix(err, "%s: ", last_part(path));
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    for (ssize_t got = 1; got != 0 && err->code == ERR_OK;) {
        if (hashing->stop != NULL && atomic_load(hashing->stop)) {
            err_set(err, ERR_NOT_READY, "hashing was stopped");
            break;
        }
        got = read(fd, hashing->piece, PIECE_BYTES);
        if (got > 0)
            sha256_update(&hashing->context, (size_t)got, hashing->piece);
        else if (got < 0 && errno != EINTR)
            err_set(err, ERR_IO, "%s: cannot be read: %s", last_part(path), strerror(errno));
    }
    close(fd);
    return err->code;
}

enum err_code sha256_files(const char *const *paths, unsigned count, const atomic_bool *stop,
                           char out[SHA256_HEX_BYTES], struct err *err)
{
    struct hashing hashing = {.stop = stop, .piece = malloc(PIECE_BYTES)};
    out[0] = '\0';
    if (hashing.piece == NULL)
        return err_no_memory(err, PIECE_BYTES);
    sha256_init(&hashing.context);
    enum err_code code = ERR_OK;
    for (unsigned i = 0; i < count && code == ERR_OK; i++)
        code = add_file(&hashing, paths[i], err);
    free(hashing.piece);
    if (code == ERR_OK)
        finish(&hashing.context, out);
    return code;
}
