/* stdf.c - see stdf.h. A file is a sequence of records: length, type, subtype, body. The first
 * record, FAR, gives the byte order: its own length is 2. A record may end early, since the last
 * fields may be left out; they read as missing. A wafer is open on a test head, or on all of them
 * (255), from its WIR to its WRR, and its dies are that head's PRRs in between. WIRs with the same
 * id are one wafer that was tested again. */
#include "engine/fab/stdf.h"

#include <string.h>

enum {
    HEADER_BYTES = 4,
    CPU_VAX = 0,
    CPU_BIG_ENDIAN = 1, /* Sun; 2 is the little-endian PC */
    CPU_LITTLE_ENDIAN = 2,
    VERSION = 4,
    HEADS = 256,
    ALL_HEADS = 255, /* as a head's number */
    WAFER_STARTS_MAX = 1 << 16,
    NO_COORDINATE = -32768,
};

struct record {
    size_t offset; /* in the file */
    const unsigned char *body;
    size_t len;
};

struct parser {
    struct lot *out;
    const unsigned char *bytes;
    size_t len, at;
    bool big_endian, ended;
    unsigned starts;
    unsigned open[HEADS]; /* index of the wafer on a head, plus one; 0: none */
};

/* ---- fields ---- */

static unsigned read_u2(const struct parser *parser, const unsigned char *bytes)
{
    return parser->big_endian ? (unsigned)(bytes[0] << 8 | bytes[1])
                              : (unsigned)(bytes[1] << 8 | bytes[0]);
}

static unsigned get_u2(const struct parser *parser, const struct record *record, size_t at)
{
    return read_u2(parser, record->body + at);
}

static int get_coordinate(const struct parser *parser, const struct record *record, size_t at)
{
    return at + 2 <= record->len ? (int16_t)get_u2(parser, record, at) : NO_COORDINATE;
}

static enum err_code malformed(const struct record *record, const char *name, const char *what,
                               struct err *err)
{
    return err_set(err, ERR_MALFORMED, "byte %zu: %s %s", record->offset, name, what);
}

/* Reads a counted string (Cn) as printable text without spaces around it; empty if it is left out.
 */
static enum err_code get_text(struct parser *parser, const struct record *record, const char *name,
                              size_t at, const char **out, struct err *err)
{
    size_t len = at < record->len ? record->body[at] : 0;
    if (len > 0 && len > record->len - at - 1)
        return malformed(record, name, "has a string that is longer than the record", err);
    const char *text = len > 0 ? (const char *)record->body + at + 1 : "";
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\0'))
        len--;
    while (len > 0 && *text == ' ') {
        text++;
        len--;
    }
    *out = "";
    if (len == 0)
        return ERR_OK;
    char *copy = arena_copy(&parser->out->arena, text, len);
    if (copy == NULL)
        return err_no_memory(err, len);
    for (size_t i = 0; i < len; i++)
        if (copy[i] < 0x20 || copy[i] > 0x7e)
            copy[i] = '?';
    *out = copy;
    return ERR_OK;
}

/* ---- records ---- */

static enum err_code take_mir(struct parser *parser, const struct record *record, struct err *err)
{
    enum { LOT_ID = 15 };
    return get_text(parser, record, "MIR", LOT_ID, &parser->out->name, err);
}

static enum err_code take_mrr(struct parser *parser, const struct record *record, struct err *err)
{
    (void)record;
    (void)err;
    parser->ended = true;
    return ERR_OK;
}

static enum err_code take_wcr(struct parser *parser, const struct record *record, struct err *err)
{
    enum { POS_X = 18, POS_Y = 19 };
    (void)err;
    parser->out->x_leftward = record->len > POS_X && record->body[POS_X] == 'L';
    parser->out->y_upward = record->len > POS_Y && record->body[POS_Y] == 'U';
    return ERR_OK;
}

/* The wafer on a head, or the one that a WIR put on all of them. */
static unsigned *open_on(struct parser *parser, unsigned head)
{
    return &parser->open[parser->open[head] != 0 ? head : ALL_HEADS];
}

/* A WIR without an id always begins a new wafer, since its WRR may give the id. */
static enum err_code take_wir(struct parser *parser, const struct record *record, struct err *err)
{
    enum { WAFER_ID = 6 };
    struct lot *out = parser->out;
    const char *id = "";
    if (record->len == 0)
        return malformed(record, "WIR", "has no head number", err);
    if (parser->starts++ == WAFER_STARTS_MAX)
        return err_set(err, ERR_TOO_LARGE, "byte %zu: wafers begin more than %d times",
                       record->offset, WAFER_STARTS_MAX);
    if (get_text(parser, record, "WIR", WAFER_ID, &id, err))
        return err->code;
    unsigned number = *id != '\0' ? lot_index(out, id) : out->wafer_count;
    if (number == out->wafer_count && lot_add_wafer(out, id, record->offset, err))
        return err->code;
    parser->open[record->body[0]] = number + 1;
    return ERR_OK;
}

static enum err_code take_wrr(struct parser *parser, const struct record *record, struct err *err)
{
    enum { WAFER_ID = 26 };
    const char *id = "";
    if (record->len == 0)
        return malformed(record, "WRR", "has no head number", err);
    if (get_text(parser, record, "WRR", WAFER_ID, &id, err))
        return err->code;
    const bool is_of_all = record->body[0] == ALL_HEADS && parser->open[ALL_HEADS] == 0;
    unsigned *open = open_on(parser, record->body[0]);
    if (*open != 0 && parser->out->wafers[*open - 1].id[0] == '\0')
        parser->out->wafers[*open - 1].id = id;
    *open = 0;
    if (is_of_all)
        memset(parser->open, 0, sizeof parser->open);
    return ERR_OK;
}

/* PART_FLG: bit 2: the test ended abnormally; bit 3: the part failed; bit 4: bit 3 is not valid. If
 * it is not valid, the bin decides: 1 is good by convention. A part that was not tested to the end
 * has failed. */
static bool has_failed(unsigned flag, unsigned hard_bin)
{
    enum { ABNORMAL = 1 << 2, FAILED = 1 << 3, FAILED_UNKNOWN = 1 << 4, GOOD_BIN = 1 };
    if (flag & ABNORMAL)
        return true;
    return flag & FAILED_UNKNOWN ? hard_bin != GOOD_BIN : (flag & FAILED) != 0;
}

static enum err_code take_prr(struct parser *parser, const struct record *record, struct err *err)
{
    enum { PART_FLG = 2, HARD_BIN = 5, X_COORD = 9, Y_COORD = 11 };
    if (record->len < HARD_BIN + 2)
        return malformed(record, "PRR", "ends before its hard bin", err);
    int x = get_coordinate(parser, record, X_COORD), y = get_coordinate(parser, record, Y_COORD);
    unsigned open = *open_on(parser, record->body[0]);
    if (open == 0 || x == NO_COORDINATE || y == NO_COORDINATE) {
        parser->out->placeless++;
        return ERR_OK;
    }
    unsigned bin = get_u2(parser, record, HARD_BIN);
    struct lot_die die = {.x = (int16_t)x,
                          .y = (int16_t)y,
                          .hard_bin = (uint16_t)bin,
                          .wafer = (uint16_t)(open - 1),
                          .failed = has_failed(record->body[PART_FLG], bin)};
    return lot_add_die(parser->out, &die, record->offset, err);
}

static const struct {
    unsigned char type, subtype;
    enum err_code (*take)(struct parser *parser, const struct record *record, struct err *err);
} records[] = {
    {1, 10, take_mir}, {1, 20, take_mrr}, {2, 10, take_wir},
    {2, 20, take_wrr}, {2, 30, take_wcr}, {5, 20, take_prr},
};

/* ---- file ---- */

static enum err_code take_far(struct parser *parser, struct err *err)
{
    enum { FAR_LEN = 2 };
    const unsigned char *bytes = parser->bytes;
    if (parser->len < HEADER_BYTES + FAR_LEN)
        return err_set(err, ERR_UNUSABLE, "not STDF: it ends within its first record (%zu bytes)",
                       parser->len);
    unsigned cpu = bytes[4], version = bytes[5];
    if (cpu > CPU_LITTLE_ENDIAN)
        return err_set(err, ERR_UNUSABLE, "byte 4: CPU type %u is not known (known: %d to %d)", cpu,
                       CPU_VAX, CPU_LITTLE_ENDIAN);
    parser->big_endian = cpu == CPU_BIG_ENDIAN;
    if (read_u2(parser, bytes) != FAR_LEN)
        return err_set(err, ERR_MALFORMED,
                       "byte 0: FAR's length is not %d in the byte order of its CPU type %u",
                       FAR_LEN, cpu);
    if (version != VERSION)
        return err_set(err, ERR_UNUSABLE, "byte 5: STDF version %u; only version %d can be read",
                       version, VERSION);
    parser->at = HEADER_BYTES + FAR_LEN;
    return ERR_OK;
}

/* True if the file has the whole record. Else sets `lost`. */
static bool is_whole(struct parser *parser, const struct record *record, size_t left)
{
    struct lot *out = parser->out;
    if (left >= HEADER_BYTES && record->len <= left - HEADER_BYTES)
        return true;
    out->lost =
        left < HEADER_BYTES
            ? arena_format(&out->arena, "byte %zu: the file is cut off in a record's header",
                           record->offset)
            : arena_format(&out->arena,
                           "byte %zu: the file is cut off: a record has %zu bytes, and "
                           "%zu are left",
                           record->offset, record->len, left - HEADER_BYTES);
    return false;
}

static enum err_code take_record(struct parser *parser, struct err *err)
{
    size_t left = parser->len - parser->at;
    const unsigned char *header = parser->bytes + parser->at;
    struct record record = {.offset = parser->at};
    if (left >= HEADER_BYTES) {
        record.len = read_u2(parser, header);
        record.body = header + HEADER_BYTES;
    }
    if (!is_whole(parser, &record, left)) {
        parser->at = parser->len;
        return parser->out->lost != NULL ? ERR_OK : err_no_memory(err, left);
    }
    parser->at += HEADER_BYTES + record.len;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        if (header[2] == records[i].type && header[3] == records[i].subtype)
            return records[i].take(parser, &record, err);
    return ERR_OK;
}

/* ---- end ---- */

/* Marks wafers that had not ended as cut off: a map of their first dies would look like another
 * pattern. */
static enum err_code end_cut_off(struct parser *parser, struct err *err)
{
    struct lot *out = parser->out;
    out->is_cut_off = true; /* until a wafer is */
    if (out->lost == NULL)
        out->lost = arena_format(&out->arena, "byte %zu: the file is cut off: it has no MRR record",
                                 parser->at);
    if (out->lost == NULL)
        return err_no_memory(err, parser->len);
    for (unsigned head = 0; head < HEADS; head++)
        if (parser->open[head] != 0) {
            out->wafers[parser->open[head] - 1].is_cut_off = true;
            out->is_cut_off = false;
        }
    for (unsigned w = 0; w < out->wafer_count; w++)
        if (!out->wafers[w].is_cut_off)
            return ERR_OK;
    return err_set(err, ERR_MALFORMED, "%s", out->lost);
}

/* Checks what follows the end: padding to whole blocks is allowed, and a line end or Ctrl-Z that a
 * transfer has added. Another lot is not: its wafers may have the same names. */
static enum err_code end_whole(struct parser *parser, struct err *err)
{
    struct lot *out = parser->out;
    const unsigned char *rest = parser->bytes + parser->at;
    size_t left = parser->len - parser->at, zeros = 0;
    while (zeros < left && rest[zeros] == 0)
        zeros++;
    if (zeros == left)
        return ERR_OK;
    for (size_t at = 0; left - at > HEADER_BYTES; at++)
        if (memcmp(rest + at, "\2\0\0\x0a", HEADER_BYTES) == 0 ||
            memcmp(rest + at, "\0\2\0\x0a", HEADER_BYTES) == 0)
            return err_set(err, ERR_MALFORMED,
                           "byte %zu: another STDF file begins behind the MRR record: split them",
                           parser->at + at);
    out->lost = arena_format(&out->arena,
                             "byte %zu: the data behind the MRR record are not read (%zu bytes)",
                             parser->at + zeros, left - zeros);
    return out->lost != NULL ? ERR_OK : err_no_memory(err, left);
}

enum err_code stdf_read(struct lot *out, const void *bytes, size_t len, struct err *err)
{
    struct parser parser = {.out = out, .bytes = bytes, .len = len};
    if (take_far(&parser, err))
        return err->code;
    while (!parser.ended && parser.at < parser.len)
        if (take_record(&parser, err))
            return err->code;
    if (parser.ended ? end_whole(&parser, err) : end_cut_off(&parser, err))
        return err->code;
    return lot_seal(out, err);
}

/* Each text takes a line of the arena; the shortest record with one is a WIR whose id has one
 * character. Blocks of the arena end unused, and a sentence may lie in the last. */
size_t stdf_read_bytes(size_t len, unsigned wafers_max)
{
    enum { WIR_BYTES_MIN = HEADER_BYTES + 1, PRR_BYTES_MIN = HEADER_BYTES + 13 };
    enum { TEXTS = 6, SENTENCES_BYTES = 48 * 1024 };
    const size_t wafers = len / WIR_BYTES_MIN < wafers_max ? len / WIR_BYTES_MIN : wafers_max;
    const size_t dies = len / PRR_BYTES_MIN < LOT_DIES_MAX ? len / PRR_BYTES_MIN : LOT_DIES_MAX;
    return lot_bytes(wafers, dies) + TEXTS * len + SENTENCES_BYTES;
}
