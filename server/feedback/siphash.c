#include "server/feedback/siphash.h"

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotated(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static void rounds(struct state *s, int count)
{
    for (int i = 0; i < count; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotated(s->v1, 13) ^ s->v0;
        s->v3 = rotated(s->v3, 16) ^ s->v2;
        s->v0 = rotated(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotated(s->v1, 17) ^ s->v2;
        s->v3 = rotated(s->v3, 21) ^ s->v0;
        s->v2 = rotated(s->v2, 32);
    }
}

static void take(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    rounds(s, 2);
    s->v0 ^= word;
}

/* A word of up to eight bytes, the first one lowest. */
static uint64_t word_of(const unsigned char *bytes, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

void siphash(const uint64_t key[2], const void *bytes, size_t len, uint64_t out[2])
{
    const unsigned char *at = bytes;
    size_t rest = len % 8;
    struct state s = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d ^ 0xee,
                      key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
    for (const unsigned char *end = at + (len - rest); at < end; at += 8)
        take(&s, word_of(at, 8));
    take(&s, word_of(at, rest) | (uint64_t)len << 56);
    s.v2 ^= 0xee;
    rounds(&s, 4);
    out[0] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    s.v1 ^= 0xdd;
    rounds(&s, 4);
    out[1] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
