/* test_sentencepiece.c - models that are broken, or ask for what is not obeyed, are refused with
 * the byte or the piece; what a model says is read. Its meaning for texts is in test_recoding.c. */
#include "engine/base/file.h"
#include "engine/text/sentencepiece.h"
#include "tests/unit/engine/text/fixture.h"
#include "tests/unit/engine/text/sentencepiece_fixture.h"

#include <math.h>
#include <stdlib.h>

static const char golden[] = "tests/data/recoding/m2m100-0/sentencepiece.bpe.model";

static struct wire wire;

static void begin(void)
{
    wire.len = 0;
    wire_piece(&wire, "<unk>", 0, 2);
    wire_piece(&wire, "</s>", 0, 3);
    wire_piece(&wire, SENTENCEPIECE_MARK "a", -1.5f, 0);
}

static enum err_code try(const char *bytes, size_t len, struct err *err)
{
    struct arena arena;
    struct sentencepiece *model;
    *err = (struct err){0};
    arena_init(&arena);
    /* a block of its own, so that a sanitizer sees any byte too far */
    char *copy = malloc(len > 0 ? len : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, len);
    const enum err_code code = sentencepiece_read(&model, copy, len, &arena, err);
    free(copy);
    arena_deinit(&arena);
    return code;
}

static void refuse(enum err_code code, const char *text)
{
    struct err err;
    ck_assert_msg(try(wire.bytes, wire.len, &err) == code, "%s: %s", err_name(err.code), err.text);
    ck_assert_str_eq(err.text, text);
}

START_TEST(sentencepiece_reads_what_a_model_says)
{
    struct arena arena;
    struct err err = {0};
    struct sentencepiece *model;
    arena_init(&arena);
    begin();
    wire_piece(&wire, "x", 2, 4);
    wire_piece(&wire, "y", 3, 5);
    wire_varint(&wire, 199, 7); /* a field that nobody knows */
    wire_number(&wire, 9 << 3 | WIRE_FIXED64);
    wire.len += 8;
    wire_option(&wire, 3, 4, 0); /* remove_extra_whitespaces */
    wire_option(&wire, 3, 5, 1); /* escape_whitespaces: another message of the same field */
    ck_assert_msg(!sentencepiece_read(&model, wire.bytes, wire.len, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(model->count, 5);
    ck_assert_int_eq(model->unknown, 0);
    ck_assert_int_eq(model->pieces[1].type, PIECE_CONTROL);
    ck_assert_int_eq(model->pieces[2].type, PIECE_NORMAL);
    ck_assert_float_eq(model->pieces[2].score, -1.5f);
    ck_assert_int_eq(vocab_find(&model->names, SENTENCEPIECE_MARK "a", 4), 2);
    ck_assert_int_eq(vocab_find(&model->user_defined, "x", 1), 3);
    ck_assert_int_eq(vocab_find(&model->user_defined, "y", 1), VOCAB_NONE);
    ck_assert(!model->is_bpe && !model->falls_back);
    ck_assert(model->adds_prefix && !model->removes_spaces && model->marks_spaces);
    arena_deinit(&arena);
}
END_TEST

START_TEST(sentencepiece_refuses_by_name_what_it_does_not_obey)
{
    begin();
    wire_option(&wire, 2, 3, 4);
    refuse(ERR_UNSUPPORTED,
           "trainer_spec.model_type 4 is not supported; UNIGRAM (1) and BPE (2) are");
    begin();
    wire_option(&wire, 2, 24, 1);
    refuse(ERR_UNSUPPORTED, "trainer_spec.treat_whitespace_as_suffix: true is not supported");
    begin();
    wire_bytes(&wire, 5,
               "\x12\x04"
               "abcd",
               6);
    refuse(ERR_UNSUPPORTED, "denormalizer_spec.precompiled_charsmap is not supported");
    begin();
    wire_piece(&wire, "b", 0, 9);
    refuse(ERR_UNSUPPORTED, "piece 3 has the type 9; 1 to 6 are");
    begin();
    wire_piece(&wire, "b", 0, 5);
    wire_option(&wire, 2, 3, 2);
    refuse(ERR_UNSUPPORTED, "piece 3 is UNUSED, which is not supported for a BPE");
}
END_TEST

START_TEST(sentencepiece_refuses_pieces_that_break_a_rule)
{
    static char large[VOCAB_PIECE_BYTES_MAX + 2];
    memset(large, 'a', sizeof large - 1);
    begin();
    wire_piece(&wire, "", 0, 1);
    refuse(ERR_UNUSABLE, "piece 3 is empty");
    begin();
    wire_piece(&wire, "</s>", 0, 1);
    refuse(ERR_UNUSABLE, "piece 3 is already defined");
    begin();
    wire_piece(&wire, "u", 0, 2);
    refuse(ERR_UNUSABLE, "piece 3 is a second unknown piece");
    begin();
    wire_piece(&wire, "\xFF", 0, 1);
    refuse(ERR_UNUSABLE, "piece 3: invalid UTF-8, or a NUL");
    begin();
    wire_bytes(&wire, 1,
               "\x0A\x02"
               "a\0",
               4);
    refuse(ERR_UNUSABLE, "piece 3: invalid UTF-8, or a NUL");
    begin();
    wire_piece(&wire, "b", NAN, 1);
    refuse(ERR_UNUSABLE, "piece 3: its score is not a finite number");
    begin();
    wire_piece(&wire, "b", -INFINITY, 1);
    refuse(ERR_UNUSABLE, "piece 3: its score is not a finite number");
    begin();
    wire_piece(&wire, large, 0, 1);
    refuse(ERR_UNSUPPORTED, "piece 3 has 1025 bytes; supported are 1024");
    begin();
    wire_piece(&wire, "<0x41>", 0, 6);
    refuse(ERR_UNUSABLE, "piece 3 is a byte, although trainer_spec.byte_fallback is false");
    begin();
    wire_piece(&wire, "<0x4a>", 0, 6);
    wire_option(&wire, 2, 35, 1);
    refuse(ERR_UNUSABLE, "piece 3 is a byte, but not one of <0x00> to <0xFF>");
    begin();
    wire_piece(&wire, "<0x4A>", 0, 6);
    wire_option(&wire, 2, 35, 1);
    refuse(ERR_UNUSABLE, "1 byte pieces; trainer_spec.byte_fallback needs 256");
    wire.len = 0;
    wire_piece(&wire, "b", 0, 1);
    refuse(ERR_UNUSABLE, "no piece is the unknown one");
    wire.len = 0;
    refuse(ERR_UNUSABLE, "0 pieces; 1 to 16777216 are supported");
}
END_TEST

START_TEST(sentencepiece_refuses_broken_fields_with_their_byte)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } rows[] = {
        {"\x80", 1, "byte 0: a number is cut short"},
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11,
         "byte 0: a number of more than 10 bytes"},
        {"\x0A\x05"
         "ab",
         4, "byte 0: field 1 has 5 bytes, of which 2 are there"},
        {"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11,
         "byte 0: field 1 has 18446744073709551615 bytes, of which 0 are there"},
        {"\x0B", 1, "byte 0: field 1 has the type 3, which no field has"},
        {"\x0D\x01\x02", 3, "byte 0: field 1 has 4 bytes, of which 2 are there"},
        {"\x09\x01\x02", 3, "byte 0: field 1 has 8 bytes, of which 2 are there"},
        {"\x08\x05", 2, "byte 0: field 1 has the type 0; it must be 2"},
        {"\x0A\x02\x0A\x07", 4, "piece 0: byte 2: field 1 has 7 bytes, of which 0 are there"},
        {"\x0A\x02\x08\x07", 4, "piece 0: byte 2: field 1 has the type 0; it must be 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(wire.bytes, rows[i].bytes, rows[i].len);
        wire.len = rows[i].len;
        refuse(ERR_UNUSABLE, rows[i].text);
    }
}
END_TEST

/* Every prefix of a small model, and each byte of it changed: an error with a text, or a model. */
START_TEST(sentencepiece_survives_cuts_and_changed_bytes)
{
    struct err err;
    begin();
    wire_option(&wire, 3, 4, 0);
    for (size_t len = 0; len < wire.len; len++)
        if (try(wire.bytes, len, &err))
            ck_assert_str_ne(err.text, "");
    for (size_t at = 0; at < wire.len; at++)
        for (int value = 0; value < 256; value++) {
            const char before = wire.bytes[at];
            wire.bytes[at] = (char)value;
            if (try(wire.bytes, wire.len, &err))
                ck_assert_str_ne(err.text, "");
            wire.bytes[at] = before;
        }
}
END_TEST

/* The file's name stands before the fault, and a charsmap is checked too. */
START_TEST(sentencepiece_faults_name_the_file)
{
    static const char config[] = "{\"tokenizer_class\":\"T5Tokenizer\"}";
    static const struct {
        const char *charsmap, *text;
    } rows[] = {
        {NULL, "spiece.model: byte 0: a number is cut short"},
        {"ab",
         "spiece.model: normalizer_spec.precompiled_charsmap: a trie of 0 bytes in 2; at least "
         "4, and 4 less than there are"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct tempdir dir;
        struct tokenizer *tokenizer;
        struct err err = {0};
        struct wire normalizer = {.len = 0};
        begin();
        wire_piece(&wire, "<pad>", 0, 3);
        if (rows[i].charsmap != NULL) {
            wire_bytes(&normalizer, 2, rows[i].charsmap, 2);
            wire_bytes(&wire, 3, normalizer.bytes, normalizer.len);
        }
        tempdir_open(&dir);
        tempdir_write(&dir, "spiece.model", rows[i].charsmap != NULL ? wire.bytes : "\x80",
                      rows[i].charsmap != NULL ? wire.len : 1);
        tempdir_write(&dir, "tokenizer_config.json", config, sizeof config - 1);
        ck_assert(tokenizer_open(&tokenizer, dir.path, 64, &err));
        ck_assert_str_eq(err.text, rows[i].text);
        tempdir_close(&dir);
    }
}
END_TEST

/* Changed bytes of a published kind of model, its charsmap included: opened or refused, and what is
 * opened encodes. */
START_TEST(sentencepiece_charsmaps_that_are_changed_do_no_harm)
{
    static const char config[] = "{\"tokenizer_class\":\"T5Tokenizer\",\"legacy\":true}";
    static const char text[] = "the \xEF\xBC\xA1\xCC\x81 \xEF\xAC\x81 die\t\xC2\xBD";
    enum { ROUNDS = 12, CHANGES = 400 };
    unsigned long long seed = 36;
    for (int round = 0; round < ROUNDS; round++) {
        struct tempdir dir;
        struct tokenizer *tokenizer = NULL;
        struct err err = {0};
        struct arena arena;
        struct encoding encoding;
        char *bytes;
        size_t len;
        ck_assert(!file_read(&bytes, &len, golden, 1 << 20, &err));
        for (int i = 0; i < CHANGES; i++) /* behind the pieces */
            bytes[len - 1 - fixture_random(&seed, 230000)] = (char)fixture_random(&seed, 256);
        tempdir_open(&dir);
        tempdir_write(&dir, "spiece.model", bytes, len);
        tempdir_write(&dir, "tokenizer_config.json", config, sizeof config - 1);
        arena_init(&arena);
        if (!tokenizer_open(&tokenizer, dir.path, 64, &err))
            tokenizer_encode(tokenizer, 0, text, sizeof text - 1, NULL, &arena, &encoding, &err);
        ck_assert(err.code == ERR_OK || err.text[0] != '\0');
        arena_deinit(&arena);
        tokenizer_close(tokenizer);
        tempdir_close(&dir);
        free(bytes);
    }
}
END_TEST

SUITE("sentencepiece", sentencepiece_reads_what_a_model_says,
      sentencepiece_refuses_by_name_what_it_does_not_obey,
      sentencepiece_refuses_pieces_that_break_a_rule,
      sentencepiece_refuses_broken_fields_with_their_byte,
      sentencepiece_survives_cuts_and_changed_bytes, sentencepiece_faults_name_the_file,
      sentencepiece_charsmaps_that_are_changed_do_no_harm)
