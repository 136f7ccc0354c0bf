/* sentencepiece.c - see sentencepiece.h. The file is walked twice: once to count the pieces, once
 * to read them. A message within the file is a part of its bytes, so error texts name the byte of
 * the file. As in every reader of protocol buffers, fields that are not known are skipped, and the
 * last of several values of a field counts. */
#include "engine/text/sentencepiece.h"

#include "engine/base/utf8.h"

#include <math.h>
#include <string.h>

enum { PIECES_MAX = 1 << 24, BYTES = 256 };

/* Numbers of the fields that are read. */
enum { MODEL_PIECE = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3, MODEL_DENORMALIZER = 5 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum { NORMALIZER_CHARSMAP = 2, NORMALIZER_PREFIX, NORMALIZER_SPACES, NORMALIZER_MARKS };
enum { TRAINER_TYPE = 3, TRAINER_SUFFIX = 24, TRAINER_FALLBACK = 35, TRAINER_SURFACE = 44 };

/* ---- fields ---- */

/* Types of the wire format. */
enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

/* A message that is read field by field. */
struct message {
    const char *file;
    size_t at, end; /* bytes of the file */
};

struct field {
    uint64_t number;
    unsigned type;
    size_t at;           /* byte of the file where the field begins */
    uint64_t value;      /* WIRE_VARINT, WIRE_FIXED32 */
    struct message body; /* WIRE_BYTES */
};

static bool read_varint(struct message *message, uint64_t *out, struct err *err)
{
    const size_t begin = message->at;
    *out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (message->at == message->end) {
            err_set(err, ERR_UNUSABLE, "byte %zu: a number is cut short", begin);
            return false;
        }
        const unsigned char byte = (unsigned char)message->file[message->at++];
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    err_set(err, ERR_UNUSABLE, "byte %zu: a number of more than 10 bytes", begin);
    return false;
}

static bool take(struct message *message, const struct field *field, uint64_t bytes,
                 struct err *err)
{
    if (bytes <= message->end - message->at) {
        message->at += (size_t)bytes;
        return true;
    }
    err_set(err, ERR_UNUSABLE, "byte %zu: field %llu has %llu bytes, of which %zu are there",
            field->at, (unsigned long long)field->number, (unsigned long long)bytes,
            message->end - message->at);
    return false;
}

/* Reads the next field; false at the end and with an error. */
static bool next_field(struct message *message, struct field *out, struct err *err)
{
    uint64_t key, bytes = 0;
    *out = (struct field){.at = message->at};
    if (message->at == message->end || !read_varint(message, &key, err))
        return false;
    out->number = key >> 3;
    out->type = key & 7;
    if (out->type == WIRE_VARINT)
        return read_varint(message, &out->value, err);
    if (out->type == WIRE_BYTES && !read_varint(message, &bytes, err))
        return false;
    if (out->type != WIRE_BYTES && out->type != WIRE_FIXED32 && out->type != WIRE_FIXED64) {
        err_set(err, ERR_UNUSABLE, "byte %zu: field %llu has the type %u, which no field has",
                out->at, (unsigned long long)out->number, out->type);
        return false;
    }
    bytes = out->type == WIRE_FIXED32 ? 4 : out->type == WIRE_FIXED64 ? 8 : bytes;
    out->body = *message;
    if (!take(message, out, bytes, err))
        return false;
    out->body.end = message->at;
    for (unsigned i = 0; out->type == WIRE_FIXED32 && i < 4; i++)
        out->value |= (uint64_t)(unsigned char)out->body.file[out->body.at + i] << 8 * i;
    return true;
}

/* True: the field has this number. A field of another type is an error. */
static bool is_field(const struct field *field, unsigned number, unsigned type, struct err *err)
{
    if (field->number != number || err->code != ERR_OK)
        return false;
    if (field->type != type)
        err_set(err, ERR_UNUSABLE, "byte %zu: field %u has the type %u; it must be %u", field->at,
                number, field->type, type);
    return field->type == type;
}

static void set_flag(bool *out, const struct field *field, unsigned number, struct err *err)
{
    if (is_field(field, number, WIRE_VARINT, err))
        *out = field->value != 0;
}

/* ---- messages ---- */

static enum err_code read_trainer(struct sentencepiece *model, struct message message,
                                  struct err *err)
{
    enum { UNIGRAM = 1, BPE = 2 };
    struct field field;
    bool is_suffix = false;
    while (next_field(&message, &field, err)) {
        set_flag(&is_suffix, &field, TRAINER_SUFFIX, err);
        set_flag(&model->falls_back, &field, TRAINER_FALLBACK, err);
        if (is_field(&field, TRAINER_SURFACE, WIRE_BYTES, err)) {
            model->unknown_surface = field.body.file + field.body.at;
            model->unknown_surface_len = field.body.end - field.body.at;
        }
        if (is_field(&field, TRAINER_TYPE, WIRE_VARINT, err)) {
            model->is_bpe = field.value == BPE;
            if (field.value != UNIGRAM && field.value != BPE)
                err_set(err, ERR_UNSUPPORTED,
                        "trainer_spec.model_type %llu is not supported; UNIGRAM (1) and BPE (2) "
                        "are",
                        (unsigned long long)field.value);
        }
    }
    if (err->code == ERR_OK && is_suffix)
        err_set(err, ERR_UNSUPPORTED,
                "trainer_spec.treat_whitespace_as_suffix: true is not supported");
    if (err->code == ERR_OK && !utf8_is_valid(model->unknown_surface, model->unknown_surface_len))
        err_set(err, ERR_UNUSABLE, "trainer_spec.unk_surface: invalid UTF-8");
    return err->code;
}

static enum err_code read_normalizer(struct sentencepiece *model, struct message message,
                                     struct err *err)
{
    struct field field;
    while (next_field(&message, &field, err)) {
        set_flag(&model->adds_prefix, &field, NORMALIZER_PREFIX, err);
        set_flag(&model->removes_spaces, &field, NORMALIZER_SPACES, err);
        set_flag(&model->marks_spaces, &field, NORMALIZER_MARKS, err);
        if (is_field(&field, NORMALIZER_CHARSMAP, WIRE_BYTES, err)) {
            model->charsmap_len = field.body.end - field.body.at;
            model->charsmap = model->charsmap_len > 0 ? field.body.file + field.body.at : NULL;
        }
    }
    return err->code;
}

static enum err_code refuse_charsmap(struct message message, struct err *err)
{
    struct field field;
    while (next_field(&message, &field, err))
        if (is_field(&field, NORMALIZER_CHARSMAP, WIRE_BYTES, err) &&
            field.body.end > field.body.at)
            err_set(err, ERR_UNSUPPORTED,
                    "denormalizer_spec.precompiled_charsmap is not supported");
    return err->code;
}

static enum err_code read_piece(struct sentencepiece_piece *piece, uint32_t id,
                                struct message message, struct err *err)
{
    struct field field;
    *piece = (struct sentencepiece_piece){.text = "", .type = PIECE_NORMAL};
    while (next_field(&message, &field, err)) {
        if (is_field(&field, PIECE_TEXT, WIRE_BYTES, err)) {
            const size_t len = field.body.end - field.body.at;
            piece->text = field.body.file + field.body.at;
            if (len > VOCAB_PIECE_BYTES_MAX)
                return err_set(err, ERR_UNSUPPORTED, "piece %u has %zu bytes; supported are %d", id,
                               len, VOCAB_PIECE_BYTES_MAX);
            piece->len = (uint32_t)len;
        }
        if (is_field(&field, PIECE_SCORE, WIRE_FIXED32, err)) {
            const uint32_t bits = (uint32_t)field.value;
            memcpy(&piece->score, &bits, sizeof bits);
        }
        if (is_field(&field, PIECE_TYPE, WIRE_VARINT, err)) {
            if (field.value < PIECE_NORMAL || field.value > PIECE_BYTE)
                return err_set(err, ERR_UNSUPPORTED, "piece %u has the type %llu; 1 to %d are", id,
                               (unsigned long long)field.value, PIECE_BYTE);
            piece->type = (enum sentencepiece_type)field.value;
        }
    }
    if (err->code != ERR_OK)
        return err_prefix(err, "piece %u: ", id);
    if (piece->len == 0)
        return err_set(err, ERR_UNUSABLE, "piece %u is empty", id);
    if (!utf8_is_valid(piece->text, piece->len) || memchr(piece->text, '\0', piece->len) != NULL)
        return err_set(err, ERR_UNUSABLE, "piece %u: invalid UTF-8, or a NUL", id);
    if (!isfinite(piece->score))
        return err_set(err, ERR_UNUSABLE, "piece %u: its score is not a finite number", id);
    return ERR_OK;
}

/* ---- rules ---- */

int sentencepiece_byte(const struct sentencepiece_piece *piece)
{
    static const char digits[] = "0123456789ABCDEF";
    enum { LEN = 6, HIGH = 3, LOW = 4 };
    if (piece->len != LEN || memcmp(piece->text, "<0x", 3) != 0 || piece->text[LEN - 1] != '>')
        return -1;
    const char *high = strchr(digits, piece->text[HIGH]), *low = strchr(digits, piece->text[LOW]);
    return high != NULL && low != NULL ? (int)((high - digits) * 16 + (low - digits)) : -1;
}

/* Adds the pieces to the tables, as SentencePiece's InitializePieces checks them. */
static enum err_code add_pieces(struct sentencepiece *model, struct arena *arena, struct err *err)
{
    bool has_byte[BYTES] = {false};
    unsigned bytes = 0;
    size_t user_defined = 0;
    for (uint32_t id = 0; id < model->count; id++)
        user_defined += model->pieces[id].type == PIECE_USER_DEFINED;
    if (vocab_init(&model->names, model->count, arena, err) ||
        vocab_init(&model->user_defined, user_defined, arena, err))
        return err->code;
    for (uint32_t id = 0; id < model->count; id++) {
        const struct sentencepiece_piece *piece = &model->pieces[id];
        const int byte = piece->type == PIECE_BYTE ? sentencepiece_byte(piece) : -1;
        if (vocab_find(&model->names, piece->text, piece->len) != VOCAB_NONE)
            return err_set(err, ERR_UNUSABLE, "piece %u is already defined", id);
        if (piece->type == PIECE_BYTE && (byte < 0 || !model->falls_back))
            return err_set(err, ERR_UNUSABLE, "piece %u is a byte, %s", id,
                           byte < 0 ? "but not one of <0x00> to <0xFF>"
                                    : "although trainer_spec.byte_fallback is false");
        if (piece->type == PIECE_UNKNOWN && model->unknown != VOCAB_NONE)
            return err_set(err, ERR_UNUSABLE, "piece %u is a second unknown piece", id);
        if (piece->type == PIECE_UNUSED && model->is_bpe)
            return err_set(err, ERR_UNSUPPORTED,
                           "piece %u is UNUSED, which is not supported for a BPE", id);
        if (piece->type == PIECE_UNKNOWN)
            model->unknown = (int32_t)id;
        if (byte >= 0 && !has_byte[byte]) {
            has_byte[byte] = true;
            bytes++;
        }
        if (vocab_add(&model->names, piece->text, piece->len, (int32_t)id, err) ||
            (piece->type == PIECE_USER_DEFINED &&
             vocab_add(&model->user_defined, piece->text, piece->len, (int32_t)id, err)))
            return err->code;
    }
    if (model->unknown == VOCAB_NONE)
        return err_set(err, ERR_UNUSABLE, "no piece is the unknown one");
    if (model->falls_back && bytes < BYTES)
        return err_set(err, ERR_UNUSABLE, "%u byte pieces; trainer_spec.byte_fallback needs %d",
                       bytes, BYTES);
    return ERR_OK;
}

/* ---- the whole ---- */

enum err_code sentencepiece_read(struct sentencepiece **out, const char *bytes, size_t len,
                                 struct arena *arena, struct err *err)
{
    static const char surface[] = " \xE2\x81\x87 "; /* SentencePiece's usual unk_surface */
    struct sentencepiece *model = *out = arena_alloc_array(arena, 1, sizeof *model);
    const char *file = arena_copy(arena, bytes, len);
    struct message whole = {file, 0, len}, again = whole;
    struct field field;
    size_t count = 0;
    if (model == NULL || file == NULL)
        return err_no_memory(err, sizeof *model + len);
    *model = (struct sentencepiece){.unknown = VOCAB_NONE,
                                    .adds_prefix = true,
                                    .removes_spaces = true,
                                    .marks_spaces = true,
                                    .unknown_surface = surface,
                                    .unknown_surface_len = sizeof surface - 1};
    while (next_field(&whole, &field, err))
        count += field.number == MODEL_PIECE;
    if (err->code == ERR_OK && (count == 0 || count > PIECES_MAX))
        return err_set(err, ERR_UNUSABLE, "%zu pieces; 1 to %d are supported", count, PIECES_MAX);
    model->pieces =
        err->code == ERR_OK ? arena_alloc_array(arena, count, sizeof *model->pieces) : NULL;
    if (err->code != ERR_OK)
        return err->code;
    if (model->pieces == NULL)
        return err_no_memory(err, count * sizeof *model->pieces);
    while (err->code == ERR_OK && next_field(&again, &field, err)) {
        if (is_field(&field, MODEL_PIECE, WIRE_BYTES, err)) {
            read_piece(&model->pieces[model->count], model->count, field.body, err);
            model->count++;
        } else if (is_field(&field, MODEL_TRAINER, WIRE_BYTES, err))
            read_trainer(model, field.body, err);
        else if (is_field(&field, MODEL_NORMALIZER, WIRE_BYTES, err))
            read_normalizer(model, field.body, err);
        else if (is_field(&field, MODEL_DENORMALIZER, WIRE_BYTES, err))
            refuse_charsmap(field.body, err);
    }
    return err->code != ERR_OK ? err->code : add_pieces(model, arena, err);
}
