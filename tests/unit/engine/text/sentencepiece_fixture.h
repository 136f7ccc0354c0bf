/* sentencepiece_fixture.h - a SentencePiece model written field by field. */
#ifndef ATTND_TESTS_UNIT_ENGINE_TEXT_SENTENCEPIECE_FIXTURE_H
#define ATTND_TESTS_UNIT_ENGINE_TEXT_SENTENCEPIECE_FIXTURE_H

#include "tests/support/suite.h"

#include <stdint.h>
#include <string.h>

enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };
enum { WIRE_ROOM = 256 * 1024 };

struct wire {
    char bytes[WIRE_ROOM];
    size_t len;
};

static inline void wire_number(struct wire *wire, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        wire->bytes[wire->len++] = (char)(number | 0x80);
    wire->bytes[wire->len++] = (char)number;
}

static inline void wire_varint(struct wire *wire, unsigned field, uint64_t value)
{
    wire_number(wire, field << 3 | WIRE_VARINT);
    wire_number(wire, value);
}

static inline void wire_bytes(struct wire *wire, unsigned field, const void *bytes, size_t len)
{
    wire_number(wire, field << 3 | WIRE_BYTES);
    wire_number(wire, len);
    ck_assert_uint_le(len, WIRE_ROOM - wire->len);
    memcpy(wire->bytes + wire->len, bytes, len);
    wire->len += len;
}

static inline void wire_float(struct wire *wire, unsigned field, float value)
{
    wire_number(wire, field << 3 | WIRE_FIXED32);
    memcpy(wire->bytes + wire->len, &value, sizeof value);
    wire->len += sizeof value;
}

/* A piece of a model. type 0: the field is left out. */
static inline void wire_piece(struct wire *model, const char *text, float score, unsigned type)
{
    static struct wire piece;
    piece.len = 0;
    wire_bytes(&piece, 1, text, strlen(text));
    wire_float(&piece, 2, score);
    if (type != 0)
        wire_varint(&piece, 3, type);
    wire_bytes(model, 1, piece.bytes, piece.len);
}

/* A field of the message `message` of a model: 2 is trainer_spec, 3 normalizer_spec. */
static inline void wire_option(struct wire *model, unsigned message, unsigned field, uint64_t value)
{
    static struct wire option;
    option.len = 0;
    wire_varint(&option, field, value);
    wire_bytes(model, message, option.bytes, option.len);
}

#endif
