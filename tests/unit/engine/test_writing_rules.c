/* Rules of a text that is written, on the tokenizers of all golden checkpoints: what is answered
 * obeys them by a matcher that is not ours (POSIX regexec), a search that finds nothing says so,
 * and what cannot be obeyed is refused by name. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/fab/semi_check.h"
#include "engine/generate/automaton.h"
#include "engine/generate/pattern.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/writing_fixture.h"

#include <locale.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_BYTES = 512, PATTERNS = 24, NEW_TOKENS = 20, BATCH = 4 };

static struct engine_writing plain(unsigned beams)
{
    struct engine_writing writing = {.asked = generation_request_empty};
    writing.asked.max_new_tokens = NEW_TOKENS;
    writing.asked.num_beams = writing.asked.num_return_sequences = beams;
    return writing;
}

/* Writes what is prepared, within the memory that was told; the arena had `before` bytes before. */
static struct engine_result write_input(struct writing_fixture *f, const struct engine_input *input,
                                        const struct engine_need *need, size_t before)
{
    const size_t prepared = f->arena.bytes;
    struct engine_result result = writing_fixture_room(f, input);
    const size_t taken = f->arena.bytes;
    engine_run(f->session, (const struct engine_input *[]){input}, 1,
               (struct engine_result *[]){&result});
    ck_assert_uint_eq(f->arena.bytes, taken);
    ck_assert(result.is_done && result.is_finite);
    ck_assert(!engine_result_texts(&result, &f->arena, &f->err));
    ck_assert_uint_le(prepared - before, need->kept);
    ck_assert_uint_le(f->arena.bytes - prepared, need->answer);
    ck_assert(result.text_count > 0 || result.broken_rule != NULL);
    ck_assert(result.text_count == 0 || (result.broken_rule == NULL && result.rejected == NULL));
    return result;
}

/* Writes one case by the rules. */
static struct engine_result write_case(struct writing_fixture *f, size_t number,
                                       struct engine_writing *writing)
{
    struct engine_input input = {0};
    struct engine_need need;
    const size_t before = f->arena.bytes;
    writing_fixture_prepare(f, doc_array_item(f->cases, number), writing, &input, &need);
    return write_input(f, &input, &need, before);
}

/* ---- random patterns ---- */

struct maker {
    char text[PATTERN_BYTES];
    size_t len;
    uint32_t state;
};

static unsigned draw(struct maker *maker, unsigned below)
{
    maker->state = maker->state * 1664525u + 1013904223u;
    return (maker->state >> 10) % below;
}

static void add(struct maker *maker, const char *text)
{
    ck_assert_uint_lt(maker->len + strlen(text), PATTERN_BYTES);
    maker->len +=
        (size_t)snprintf(maker->text + maker->len, PATTERN_BYTES - maker->len, "%s", text);
}

/* Parts that mean the same in POSIX' extended regular expressions. */
static void add_parts(struct maker *maker, unsigned depth)
{
    static const char *const atoms[] = {"[a-z]", "[a-z ]", "[A-Za-z]", "[0-9]", "[^a-m]",
                                        "the",   "e",      " ",        "X",     "[a-z,.]"};
    static const char *const repeats[] = {"", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}"};
    for (unsigned i = 1 + draw(maker, 3); i > 0; i--) {
        if (depth > 0 && draw(maker, 3) == 0) {
            add(maker, "(");
            add_parts(maker, depth - 1);
            add(maker, "|");
            add_parts(maker, depth - 1);
            add(maker, ")");
        } else {
            const unsigned atom = draw(maker, sizeof atoms / sizeof *atoms);
            add(maker, atoms[atom]);
            if (strlen(atoms[atom]) == 3 && atoms[atom][0] != '[')
                continue; /* a repetition would be of its last letter: as well, but dull */
        }
        add(maker, repeats[draw(maker, sizeof repeats / sizeof *repeats)]);
    }
}

/* Draws a pattern within the limits, of whose texts not all have white space at an end. */
static void draw_pattern(struct maker *maker, struct arena *arena)
{
    struct automaton all, trimmed;
    struct err err;
    do {
        err = (struct err){0};
        maker->len = 0;
        add_parts(maker, 2);
    } while (pattern_compile(&all, "pattern", maker->text, maker->len, arena, &err) ||
             automaton_trim(&trimmed, &all, "pattern", PATTERN_TABLE_MAX, arena, &err));
}

static bool matches(const char *pattern, const char *text)
{
    char whole[PATTERN_BYTES + 8];
    regex_t compiled;
    snprintf(whole, sizeof whole, "^(%s)$", pattern);
    ck_assert_msg(regcomp(&compiled, whole, REG_EXTENDED | REG_NOSUB) == 0, "%s", pattern);
    const bool is_one = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return is_one;
}

/* A text that is answered matches; one that is rejected does not. regexec would end at a NUL, which
 * a token of bytes may be and some patterns allow: such a text is not compared. */
static void check_matches(const struct engine_result *result, const char *pattern, const char *name)
{
    for (unsigned i = 0; i < result->text_count; i++) {
        const bool has_nul = result->texts[i].len != strlen(result->texts[i].text);
        ck_assert_msg(has_nul || matches(pattern, result->texts[i].text), "%s, %s: '%s'", name,
                      pattern, result->texts[i].text);
        ck_assert(i == 0 || result->texts[i].score <= result->texts[i - 1].score);
    }
    if (result->text_count > 0)
        return;
    ck_assert_str_eq(result->broken_rule, "pattern");
    ck_assert_msg(result->rejected == NULL || !matches(pattern, result->rejected->text),
                  "%s, %s: '%s'", name, pattern, result->rejected->text);
}

START_TEST(every_text_matches_the_pattern)
{
    struct maker maker = {.state = 1};
    unsigned found = 0, all = 0;
    ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8")); /* for regexec */
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        for (unsigned p = 0; p < PATTERNS; p++) {
            struct engine_writing writing = plain(1 + 3 * (p % 2));
            draw_pattern(&maker, &f.arena);
            writing.pattern = maker.text;
            writing.pattern_len = maker.len;
            const struct engine_result result =
                write_case(&f, p % doc_array_count(f.cases), &writing);
            check_matches(&result, maker.text, writing_names[m]);
            found += result.text_count > 0;
            all++;
        }
        writing_fixture_close(&f);
    }
    ck_assert_msg(found >= all * 3 / 4, "%u of %u", found, all);
}
END_TEST

START_TEST(every_text_is_one_of_those_allowed)
{
    static const char *const allowed[] = {"pass", "the die failed", "no. 7", "T\xC3\xA9st 12"};
    enum { ALLOWED = sizeof allowed / sizeof *allowed };
    unsigned found = 0;
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        for (unsigned round = 0; round < 4; round++) {
            struct engine_writing writing = plain(1 + 3 * (round % 2));
            writing.allowed = allowed;
            writing.allowed_count = ALLOWED - round / 2;
            const struct engine_result result = write_case(&f, round / 2, &writing);
            for (unsigned i = 0; i < result.text_count; i++) {
                bool is_one = false;
                for (unsigned a = 0; a < writing.allowed_count; a++)
                    is_one = is_one || strcmp(result.texts[i].text, allowed[a]) == 0;
                ck_assert_msg(is_one, "%s: '%s'", writing_names[m], result.texts[i].text);
            }
            found += result.text_count > 0;
        }
        writing_fixture_close(&f);
    }
    ck_assert_msg(found >= 4 * WRITING_NAMES * 3 / 4, "%u", found);
}
END_TEST

/* The allowed text is written and its end is banned: the answer names what banned it. */
START_TEST(a_text_that_obeys_and_may_not_end_is_rejected_by_name)
{
    static const char *const allowed[] = {"ab", "3.97 V"};
    unsigned lengths = 0, repeats = 0;
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        for (unsigned round = 0; round < 8; round++) {
            struct engine_writing writing = plain(1 + 3 * (round % 2));
            writing.allowed = &allowed[round / 4];
            writing.allowed_count = 1;
            if (round / 2 % 2 == 0)
                writing.asked.min_new_tokens = NEW_TOKENS;
            else
                writing.asked.no_repeat_ngram_size = 1;
            const struct engine_result result = write_case(&f, 0, &writing);
            if (result.text_count > 0 || strcmp(result.broken_rule, "allowed") == 0)
                continue;
            ck_assert_str_eq(result.broken_rule,
                             round / 2 % 2 == 0 ? "min_new_tokens" : "no_repeat_ngram_size");
            ck_assert(result.rejected == NULL ||
                      strcmp(result.rejected->text, writing.allowed[0]) == 0);
            ck_assert_int_eq(result.judgement.decision,
                             result.rejected != NULL ? DECISION_REVIEW : DECISION_UNKNOWN);
            lengths += round / 2 % 2 == 0;
            repeats += round / 2 % 2 == 1;
        }
        writing_fixture_close(&f);
    }
    ck_assert_msg(lengths >= 4 && repeats >= 2, "%u lengths, %u repeats", lengths, repeats);
}
END_TEST

/* Three tokens may be written, each once, and a text has ten at least: the search ends without one,
 * and no request asked for a rule. */
START_TEST(a_search_that_can_neither_end_nor_go_on_says_what_binds_it)
{
    for (unsigned beams = 1; beams <= 4; beams += 3) {
        struct writing_fixture f;
        char config[4096];
        size_t len = (size_t)snprintf(config, sizeof config,
                                      "{\"decoder_start_token_id\": 0, \"eos_token_id\": 1, "
                                      "\"no_repeat_ngram_size\": 1, \"min_new_tokens\": 10, "
                                      "\"suppress_tokens\": [0");
        for (unsigned id = 2; id < 272; id++)
            if (id < 5 || id > 7)
                len += (size_t)snprintf(config + len, sizeof config - len, ", %u", id);
        snprintf(config + len, sizeof config - len, "]}");
        writing_fixture_open_bound(&f, "t5-0", config);
        struct engine_writing writing = plain(beams);
        const struct engine_result result = write_case(&f, 0, &writing);
        ck_assert_uint_eq(result.text_count, 0);
        ck_assert_str_eq(result.broken_rule, "min_new_tokens");
        ck_assert_int_eq(result.judgement.decision,
                         result.rejected != NULL ? DECISION_REVIEW : DECISION_UNKNOWN);
        writing_fixture_close(&f);
    }
}
END_TEST

/* One of eight marks has the right check characters, A2. */
START_TEST(the_text_that_is_answered_has_the_right_check_characters)
{
    static const char *const marks[] = {"AM1664-24A0", "AM1664-24A1", "AM1664-24A2", "AM1664-24A3",
                                        "AM1664-24A4", "AM1664-24A5", "AM1664-24A6", "AM1664-24A7"};
    unsigned found = 0, rejected = 0;
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        for (unsigned beams = 1; beams <= 8; beams += 7) {
            struct engine_writing writing = plain(beams);
            writing.allowed = marks;
            writing.allowed_count = 8;
            writing.checksum = ENGINE_CHECKSUM_SEMI_M13;
            const struct engine_result result = write_case(&f, 0, &writing);
            if (result.text_count > 0) { /* the same text by other tokens may come again */
                for (unsigned i = 0; i < result.text_count; i++)
                    ck_assert_str_eq(result.texts[i].text, "AM1664-24A2");
                found++;
            } else if (result.rejected != NULL && strlen(result.rejected->text) == 11) {
                ck_assert_str_eq(result.broken_rule, "checksum");
                ck_assert_int_eq(strncmp(result.rejected->text, "AM1664-24A", 10), 0);
                rejected++;
            }
        }
        writing_fixture_close(&f);
    }
    ck_assert_msg(found >= 5 && rejected >= 3, "%u found, %u rejected", found, rejected);
}
END_TEST

/* With two beams and more the search looks ahead for it; with one it does not. */
START_TEST(a_mark_whose_check_no_beam_holds_is_found_ahead)
{
    const struct engine_options options = {.writes_texts = true};
    struct writing_fixture f = {0};
    char *bytes;
    size_t len;
    arena_init(&f.arena);
    ck_assert(!engine_open(&f.model, "models/wafer-id", &options, &f.err));
    ck_assert(!engine_session_open(&f.session, f.model, 0, 2, &f.err));
    ck_assert(!file_read(&bytes, &len, "tests/data/wafer-id/hard.png", 1 << 20, &f.err));
    for (unsigned beams = 1; beams <= 8; beams++) {
        struct engine_writing writing = {.asked = generation_request_empty,
                                         .aligns = beams == 8,
                                         .checksum = ENGINE_CHECKSUM_SEMI_M13};
        writing.asked.num_beams = beams;
        const struct engine_source source = {.kind = ENGINE_IMAGE,
                                             .bytes = bytes,
                                             .len = len,
                                             .pixels_max = 1 << 20,
                                             .writing = &writing};
        const struct engine_need need = engine_need(f.model, &source);
        const size_t before = f.arena.bytes;
        struct engine_input input = {0};
        ck_assert(!engine_prepare(f.model, &source, NULL, &f.arena, &input, &f.err));
        const struct engine_result result = write_input(&f, &input, &need, before);
        ck_assert_uint_eq(result.text_count, beams > 1);
        if (beams == 1)
            ck_assert_str_eq(result.broken_rule, "checksum");
        if (beams == 1)
            continue;
        float sum = 0;
        for (unsigned t = 0; t < result.texts->count; t++)
            sum += result.texts->probabilities[t];
        ck_assert_float_eq_tol(result.texts->score, sum, 1e-4F);
        ck_assert_msg(semi_check_holds(result.texts->text, result.texts->len), "%s",
                      result.texts->text);
        ck_assert(beams < 8 || strcmp(result.texts->text, "GII16D06EA----P2F2") == 0);
    }
    free(bytes);
    engine_session_close(f.session);
    engine_close(f.model);
    arena_deinit(&f.arena);
}
END_TEST

/* True if each number of the text is one of the source. */
static bool copies(const char *text, const char *source)
{
    for (const char *at = text; *at != '\0';) {
        const size_t len = strspn(at, "0123456789");
        bool is_there = len == 0;
        for (const char *from = source; *from != '\0' && !is_there;) {
            const size_t other = strspn(from, "0123456789");
            is_there = other == len && strncmp(from, at, len) == 0;
            from += other + (other == 0);
        }
        if (!is_there)
            return false;
        at += len + (len == 0);
    }
    return true;
}

START_TEST(every_number_is_copied_from_the_source)
{
    unsigned found = 0, digits = 0;
    for (size_t m = 0; m < WRITING_NAMES - 3; m++) { /* the others read pictures */
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        for (unsigned i = 0; i < 2 * (unsigned)doc_array_count(f.cases); i++) {
            const char *source = doc_as_string(doc_member(doc_array_item(f.cases, i / 2), "text"));
            struct engine_writing writing = plain(1 + 3 * (i % 2));
            writing.copies_numbers = true;
            if (i % 4 == 0 && copies("7", source)) {
                writing.pattern = "([a-z ]*[0-9]+){1,3}";
                writing.pattern_len = strlen(writing.pattern);
            }
            const struct engine_result result = write_case(&f, i / 2, &writing);
            for (unsigned t = 0; t < result.text_count; t++) {
                ck_assert_msg(copies(result.texts[t].text, source), "%s: '%s' of '%s'",
                              writing_names[m], result.texts[t].text, source);
                digits += strpbrk(result.texts[t].text, "0123456789") != NULL;
            }
            found += result.text_count > 0;
        }
        writing_fixture_close(&f);
    }
    ck_assert_msg(found > 40 && digits > 10, "%u texts, %u with a number", found, digits);
}
END_TEST

/* Inputs with different rules, or none, in one batch and each alone: to the bit. */
START_TEST(a_text_with_rules_does_not_depend_on_its_batch)
{
    static const char *const allowed[] = {"pass", "the die failed"};
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        struct engine_input inputs[BATCH];
        struct engine_result results[BATCH];
        const struct engine_input *input_at[BATCH];
        struct engine_result *result_at[BATCH];
        writing_fixture_open(&f, writing_names[m]);
        for (unsigned i = 0; i < BATCH; i++) {
            struct engine_writing writing = plain(1 + i);
            struct engine_need need;
            writing.pattern = i == 0 || i == 2 ? "[a-z ,.]{3,9}" : NULL;
            writing.pattern_len = strlen("[a-z ,.]{3,9}");
            writing.allowed = i == 1 ? allowed : NULL;
            writing.allowed_count = 2;
            inputs[i] = (struct engine_input){0};
            writing_fixture_prepare(&f, doc_array_item(f.cases, i % 2), &writing, &inputs[i],
                                    &need);
            results[i] = writing_fixture_room(&f, &inputs[i]);
            input_at[i] = &inputs[i];
            result_at[i] = &results[i];
        }
        engine_run(f.session, input_at, BATCH, result_at);
        for (unsigned i = 0; i < BATCH; i++) {
            struct engine_result alone = writing_fixture_room(&f, &inputs[i]);
            engine_run(f.session, &input_at[i], 1, (struct engine_result *[]){&alone});
            ck_assert(!engine_result_texts(&alone, &f.arena, &f.err));
            ck_assert(!engine_result_texts(&results[i], &f.arena, &f.err));
            ck_assert_uint_eq(alone.text_count, results[i].text_count);
            for (unsigned t = 0; t < alone.text_count; t++) {
                ck_assert_str_eq(alone.texts[t].text, results[i].texts[t].text);
                ck_assert_mem_eq(&alone.texts[t].score, &results[i].texts[t].score, sizeof(float));
            }
        }
        writing_fixture_close(&f);
    }
}
END_TEST

/* ---- what is refused ---- */

static void refuse(struct writing_fixture *f, const struct engine_source *source, const char *why)
{
    struct engine_input input = {0};
    f->err = (struct err){0};
    ck_assert_int_eq(engine_prepare(f->model, source, NULL, &f->arena, &input, &f->err),
                     ERR_UNUSABLE);
    ck_assert_msg(strstr(f->err.text, why) != NULL, "%s", f->err.text);
}

static void refuse_pattern(struct writing_fixture *f, const char *pattern, const char *why)
{
    const struct engine_writing writing = {
        .asked = generation_request_empty, .pattern = pattern, .pattern_len = strlen(pattern)};
    refuse(f, text_source_with("a", .writing = &writing), why);
}

static void refuse_allowed(struct writing_fixture *f, const char *const *allowed, unsigned count,
                           const char *why)
{
    const struct engine_writing writing = {
        .asked = generation_request_empty, .allowed = allowed, .allowed_count = count};
    refuse(f, text_source_with("a", .writing = &writing), why);
}

START_TEST(rules_that_cannot_be_obeyed_are_refused_by_name)
{
    static const char *many[AUTOMATON_WORDS_MAX + 1];
    struct writing_fixture f;
    for (unsigned i = 0; i <= AUTOMATON_WORDS_MAX; i++)
        many[i] = "a";
    writing_fixture_open(&f, "t5-gated-0"); /* its tokenizer strips */
    refuse_pattern(&f, "[A-Z", "pattern: byte 4");
    refuse_pattern(&f, "(a|b)*a(a|b){14}", "pattern: needs more than 4096 states (limit)");
    refuse_pattern(&f, "\xFF", "pattern: byte 0: invalid UTF-8");
    refuse_pattern(&f, " a| b", "pattern: each of its texts begins or ends with white space");
    refuse_allowed(&f, many, AUTOMATON_WORDS_MAX + 1, "allowed: 1001 texts (1 to 1000)");
    refuse_allowed(&f, many, 0, "allowed: 0 texts (1 to 1000)");
    refuse_allowed(&f, (const char *const[]){"a", ""}, 2, "allowed[1]: empty");
    refuse_allowed(&f, (const char *const[]){"a", "b\xFF"}, 2,
                   "allowed[1]: invalid UTF-8 at byte 1");
    refuse_allowed(&f, (const char *const[]){"a", " b"}, 2, "allowed[1]: the model's tokenizer");
    writing_fixture_close(&f);
    writing_fixture_open(&f, "bart-0"); /* its does not */
    struct engine_input input;
    const struct engine_writing spaced = {.asked = generation_request_empty,
                                          .allowed = (const char *const[]){" b"},
                                          .allowed_count = 1};
    ck_assert(!engine_prepare(f.model, text_source_with("a", .writing = &spaced), NULL, &f.arena,
                              &input, &f.err));
    writing_fixture_close(&f);
}
END_TEST

/* The rule is named before the picture is looked at. */
START_TEST(numbers_of_a_picture_are_refused_by_name)
{
    struct writing_fixture f;
    struct engine_writing writing = {.asked = generation_request_empty, .copies_numbers = true};
    const struct engine_source source = {.kind = ENGINE_IMAGE,
                                         .bytes = "no picture",
                                         .len = 10,
                                         .pixels_max = 1000,
                                         .writing = &writing};
    writing_fixture_open(&f, "trocr-0");
    refuse(&f, &source, "copy_numbers: the input is a picture");
    ck_assert_uint_eq(engine_need(f.model, &source).kept, 0);
    writing_fixture_close(&f);
}
END_TEST

START_TEST(checksums_are_found_by_name)
{
    enum engine_checksum checksum = ENGINE_CHECKSUM_OWN;
    ck_assert(engine_checksum_find("semi-m13", 8, &checksum));
    ck_assert_int_eq(checksum, ENGINE_CHECKSUM_SEMI_M13);
    ck_assert(!engine_checksum_find("semi-m1", 7, &checksum));
    ck_assert(!engine_checksum_find("", 0, &checksum));
}
END_TEST

SUITE("writing_rules", every_text_matches_the_pattern, every_text_is_one_of_those_allowed,
      a_text_that_obeys_and_may_not_end_is_rejected_by_name,
      a_search_that_can_neither_end_nor_go_on_says_what_binds_it,
      the_text_that_is_answered_has_the_right_check_characters,
      every_number_is_copied_from_the_source, a_text_with_rules_does_not_depend_on_its_batch,
      rules_that_cannot_be_obeyed_are_refused_by_name, numbers_of_a_picture_are_refused_by_name,
      a_mark_whose_check_no_beam_holds_is_found_ahead, checksums_are_found_by_name)
