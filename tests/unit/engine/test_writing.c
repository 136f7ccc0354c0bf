/* Models that write, through the engine's door: texts, scores and alignments of transformers'
 * generate(); batches; options and what is refused. */
#include "engine/base/doc.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/writing_fixture.h"
#include "tests/support/writing_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 64 };

static struct engine_result write_one(struct writing_fixture *f, const struct json_t *one,
                                      unsigned beams, bool aligns, struct engine_input *input)
{
    struct engine_writing writing = {.asked = generation_request_empty, .aligns = aligns};
    double longest;
    ck_assert(doc_as_number(doc_member(f->root, "max_new_tokens"), &longest));
    writing.asked.num_beams = writing.asked.num_return_sequences = beams;
    writing.asked.max_new_tokens = (long long)longest;
    *input = (struct engine_input){0};
    struct engine_need need;
    const size_t before = f->arena.bytes;
    writing_fixture_prepare(f, one, &writing, input, &need);
    const size_t prepared = f->arena.bytes;
    struct engine_result result = writing_fixture_room(f, input);
    const size_t taken = f->arena.bytes;
    engine_run(f->session, (const struct engine_input *[]){input}, 1,
               (struct engine_result *[]){&result});
    ck_assert_uint_eq(f->arena.bytes, taken);
    ck_assert(!engine_result_texts(&result, &f->arena, &f->err));
    ck_assert_uint_le(prepared - before, need.kept);
    ck_assert_uint_le(f->arena.bytes - prepared, need.answer);
    ck_assert(result.is_done && result.is_finite && result.task == ENGINE_GENERATE);
    return result;
}

/* The recorded ids begin with the start. */
static void check_text(const char *name, size_t number, const struct engine_text *text,
                       const struct json_t *expected)
{
    const struct json_t *ids = doc_member(expected, "ids");
    const char *words = doc_as_string(doc_member(expected, "text"));
    double score;
    ck_assert_msg(text->count + 1 == doc_array_count(ids), "%s case %zu: %u tokens", name, number,
                  text->count);
    for (unsigned t = 0; t < text->count; t++) {
        double id;
        ck_assert(doc_as_number(doc_array_item(ids, t + 1), &id));
        ck_assert_msg(text->ids[t] == (int32_t)id, "%s case %zu, token %u: %d", name, number, t,
                      text->ids[t]);
    }
    ck_assert_str_eq(text->text, words);
    ck_assert_uint_eq(text->len, strlen(words));
    if (doc_as_number(doc_member(expected, "score"), &score))
        ck_assert_double_eq_tol((double)text->score, score, 1e-5);
}

START_TEST(texts_are_those_of_generate)
{
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        ck_assert_int_eq(engine_describe(f.model)->task, ENGINE_GENERATE);
        for (size_t i = 0; i < doc_array_count(f.cases); i++) {
            const struct json_t *one = doc_array_item(f.cases, i), *beam = doc_member(one, "beam");
            struct engine_input input;
            struct engine_result result = write_one(&f, one, 1, false, &input);
            check_text(writing_names[m], i, &result.texts[0], doc_member(one, "greedy"));
            ck_assert_uint_eq(result.text_count, 1);
            result = write_one(&f, one, (unsigned)doc_array_count(beam), false, &input);
            ck_assert_uint_eq(result.text_count, doc_array_count(beam));
            for (unsigned b = 0; b < result.text_count; b++)
                check_text(writing_names[m], i, &result.texts[b], doc_array_item(beam, b));
        }
        writing_fixture_close(&f);
    }
}
END_TEST

/* cross_attention: [layers][steps][source tokens], of the greedy text. */
static double alignment_difference(const struct engine_text *text, const struct json_t *layers,
                                   unsigned source)
{
    const size_t count = doc_array_count(layers);
    double worst = 0;
    for (unsigned s = 0; s < text->count; s++)
        for (unsigned t = 0; t < source; t++) {
            double mean = 0, number;
            for (size_t l = 0; l < count; l++) {
                const struct json_t *row = doc_array_item(doc_array_item(layers, l), s);
                ck_assert(doc_as_number(doc_array_item(row, t), &number));
                mean += number / (double)count;
            }
            worst = fmax(worst, fabs((double)text->alignment[s * source + t] - mean));
        }
    return worst;
}

START_TEST(alignments_are_the_cross_attention_of_each_token)
{
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        unsigned compared = 0;
        writing_fixture_open(&f, writing_names[m]);
        for (size_t i = 0; i < doc_array_count(f.cases); i++) {
            const struct json_t *one = doc_array_item(f.cases, i);
            const struct json_t *layers = doc_member(one, "cross_attention");
            struct engine_input input;
            if (layers == NULL)
                continue;
            const struct engine_result result = write_one(&f, one, 1, true, &input);
            const double worst = alignment_difference(&result.texts[0], layers, input.tokens);
            ck_assert_msg(worst < 1e-4, "%s case %zu: %g", writing_names[m], i, worst);
            compared++;
        }
        ck_assert_uint_gt(compared, 0);
        writing_fixture_close(&f);
    }
}
END_TEST

/* Its rows are those of the golden's teacher: logarithms of the probabilities of its target. */
START_TEST(teaching_gives_the_recorded_probabilities)
{
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        for (size_t i = 0; i < doc_array_count(f.cases); i++) {
            const struct json_t *one = doc_array_item(f.cases, i);
            const struct json_t *teacher = doc_member(one, "teacher");
            const struct json_t *ids = doc_member(teacher, "target_ids");
            const struct json_t *expected = doc_member(teacher, "target_logprobs");
            struct engine_writing writing = {.asked = generation_request_empty};
            struct engine_input input = {0};
            struct engine_need need;
            const float *logits;
            unsigned vocabulary;
            int32_t target[64];
            const unsigned count = (unsigned)doc_array_count(ids);
            double number;
            ck_assert_uint_le(count, 64);
            for (unsigned t = 0; t < count; t++) {
                ck_assert(doc_as_number(doc_array_item(ids, t), &number));
                target[t] = (int32_t)number;
            }
            writing_fixture_prepare(&f, one, &writing, &input, &need);
            ck_assert_msg(!engine_teach(f.session, &input, target, count, &f.arena, &logits,
                                        &vocabulary, &f.err),
                          "%s", f.err.text);
            for (unsigned t = 0; t < count; t++) {
                const float *row = logits + (size_t)t * vocabulary;
                double sum = 0;
                for (unsigned v = 0; v < vocabulary; v++)
                    sum += exp((double)row[v]);
                ck_assert(doc_as_number(doc_array_item(expected, t), &number));
                ck_assert_double_eq_tol((double)row[target[t]] - log(sum), number, 1e-4);
            }
        }
        int32_t beyond = INT32_MAX;
        struct engine_writing writing = {.asked = generation_request_empty};
        struct engine_input input = {0};
        struct engine_need need;
        const float *logits;
        unsigned vocabulary;
        writing_fixture_prepare(&f, doc_array_item(f.cases, 0), &writing, &input, &need);
        ck_assert_int_eq(
            engine_teach(f.session, &input, &beyond, 1, &f.arena, &logits, &vocabulary, &f.err),
            ERR_UNUSABLE);
        writing_fixture_close(&f);
    }
}
END_TEST

/* engine_align: the pieces make the text, and the weights are those of its tokens. */
START_TEST(alignments_have_the_pieces_of_the_text_and_all_weights)
{
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        for (size_t i = 0; i < doc_array_count(f.cases); i++) {
            struct engine_input input;
            struct explanation found;
            char text[4096] = "";
            const struct engine_result result =
                write_one(&f, doc_array_item(f.cases, i), 1, true, &input);
            ck_assert(!engine_align(f.model, &input, result.texts, &f.arena, &found, &f.err));
            ck_assert_uint_eq(found.aligned_count, result.texts[0].count);
            const unsigned sources =
                input.kind == ENGINE_TEXT ? found.word_count : found.view.rows * found.view.columns;
            unsigned specials = 0;
            for (unsigned t = 0; input.kind == ENGINE_TEXT && t < input.tokens; t++)
                specials += input.ends[t] == 0;
            for (unsigned t = 0; t < found.aligned_count; t++) {
                const struct aligned_token *token = &found.aligned[t];
                double sum = 0;
                strncat(text, token->text, token->len);
                for (unsigned s = 0; s < sources; s++)
                    sum += (double)token->weights[s];
                ck_assert_double_le(sum, 1 + 1e-5);
                if (input.kind == ENGINE_TEXT && specials == 0)
                    ck_assert_double_ge(sum, 1 - 1e-5);
            }
            ck_assert_msg(strcmp(text, result.texts[0].text) == 0, "%s case %zu: \"%s\", \"%s\"",
                          writing_names[m], i, text, result.texts[0].text);
        }
        writing_fixture_close(&f);
    }
}
END_TEST

/* The pieces that are told between the steps make the text that is answered, whatever it has: runs
 * of spaces, and bytes at its end that are no whole character. Their logarithms are the text's. */
START_TEST(pieces_of_a_text_in_the_making_make_the_text)
{
    static const char *const patterns[] = {NULL, "(\xC3\xA9| ){1,20}", "[a-z ]{1,40}",
                                           "[^a-z]{2,30}"};
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        for (unsigned round = 0; round < 32; round++) {
            struct engine_writing writing = {.asked = generation_request_empty};
            struct engine_input input = {0};
            struct engine_need need;
            struct engine_pieces pieces = {0};
            struct engine_piece piece;
            char text[4096] = "";
            float logs[64];
            size_t len = 0;
            bool is_there = true;
            writing.asked.num_beams = 1;
            writing.asked.max_new_tokens = 7 + round;
            writing.asked.no_repeat_ngram_size = round % 2;
            writing.asked.min_new_tokens = round % 8 < 4 ? writing.asked.max_new_tokens : 0;
            writing.pattern = patterns[round / 2 % 4];
            writing.pattern_len = writing.pattern != NULL ? strlen(writing.pattern) : 0;
            writing_fixture_prepare(&f, doc_array_item(f.cases, round % doc_array_count(f.cases)),
                                    &writing, &input, &need);
            struct engine_result result = writing_fixture_room(&f, &input);
            while (is_there || !result.is_done) {
                if (!is_there)
                    engine_step(f.session, (const struct engine_input *[]){&input}, 1,
                                (struct engine_result *[]){&result});
                if (result.is_done && result.texts == NULL)
                    ck_assert(!engine_result_texts(&result, &f.arena, &f.err));
                ck_assert(
                    !engine_next_piece(&result, &pieces, &f.arena, &piece, &is_there, &f.err));
                if (is_there && piece.len > 0) /* a text may have a zero byte */
                    memcpy(text + len, piece.text, piece.len);
                len += is_there ? piece.len : 0;
                if (!is_there)
                    continue;
                logs[piece.index] = piece.probability;
                ck_assert_int_eq(piece.is_special, piece.name != NULL && piece.name_len > 0);
            }
            for (unsigned t = 0; result.text_count > 0 && t < result.texts[0].count; t++)
                ck_assert_float_eq(logs[t], result.texts[0].probabilities[t]);
            if (result.text_count > 0)
                ck_assert_msg(
                    len == result.texts[0].len && memcmp(text, result.texts[0].text, len) == 0,
                    "%s, %u: '%s', '%s'", writing_names[m], round, text, result.texts[0].text);
        }
        writing_fixture_close(&f);
    }
}
END_TEST

/* The texts are those of transformers 4.57.6, whose decoded sequence begins with the start. */
START_TEST(a_start_that_is_an_ordinary_token_is_in_the_text)
{
    static const struct {
        const char *name, *config, *text, *pattern;
        unsigned tokens; /* that were written */
    } rows[] = {
        {"t5-0", "{\"decoder_start_token_id\": 7, \"eos_token_id\": 1}", ".13", "[.][0-9]+", 3},
        {"bart-0", "{\"decoder_start_token_id\": 320, \"eos_token_id\": 2}", " d98 The",
         " d[ 0-9A-Za-z]*", 4},
        {"marian-0", "{\"decoder_start_token_id\": 222, \"eos_token_id\": 0}", "D", "D+", 1}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct writing_fixture f;
        struct engine_input input = {0};
        struct explanation found;
        struct engine_need need;
        char text[200] = "";
        writing_fixture_open_bound(&f, rows[r].name, rows[r].config);
        const struct json_t *one = doc_array_item(f.cases, 0);
        struct engine_result result = write_one(&f, one, 1, true, &input);
        ck_assert_str_eq(result.texts[0].text, rows[r].text);
        ck_assert_uint_eq(result.texts[0].count, rows[r].tokens);
        ck_assert(!engine_align(f.model, &input, result.texts, &f.arena, &found, &f.err));
        ck_assert_uint_eq(found.aligned_count, rows[r].tokens);
        for (unsigned t = 0; t < found.aligned_count; t++)
            strncat(text, found.aligned[t].text, found.aligned[t].len);
        for (unsigned is_last = 0; is_last < 2; is_last++) {
            struct engine_writing writing = {.asked = generation_request_empty,
                                             .pattern = is_last ? "[^.dD]+" : rows[r].pattern};
            writing.pattern_len = strlen(writing.pattern);
            writing.asked.num_beams = 1;
            writing.asked.max_new_tokens = 8;
            writing_fixture_prepare(&f, one, &writing, &input, &need);
            result = writing_fixture_room(&f, &input);
            engine_run(f.session, (const struct engine_input *[]){&input}, 1,
                       (struct engine_result *[]){&result});
            ck_assert(!engine_result_texts(&result, &f.arena, &f.err));
            ck_assert_uint_eq(result.text_count, 1 - is_last);
            if (is_last)
                ck_assert_str_eq(result.broken_rule, "pattern");
            else
                ck_assert_int_eq(result.texts[0].text[0], rows[r].text[0]);
        }
        ck_assert_str_eq(text, rows[r].text);
        writing_fixture_close(&f);
    }
}
END_TEST

/* All cases in one batch, with 1 to 4 beams, against each alone: texts and scores to the bit. */
START_TEST(a_text_does_not_depend_on_what_shares_its_batch)
{
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        struct engine_input inputs[CASES_MAX];
        struct engine_result results[CASES_MAX];
        const struct engine_input *input_at[CASES_MAX];
        struct engine_result *result_at[CASES_MAX];
        unsigned tokens = 0, count = 0;
        writing_fixture_open(&f, writing_names[m]);
        const unsigned most = engine_describe(f.model)->tokens_max;
        ck_assert_uint_le(doc_array_count(f.cases), CASES_MAX);
        for (size_t i = 0; i < doc_array_count(f.cases); i++) {
            struct engine_writing writing = {.asked = generation_request_empty};
            writing.asked.num_beams = 1 + (long long)i % 4;
            writing.asked.max_new_tokens = 6 + (long long)i % 5;
            inputs[count] = (struct engine_input){0};
            struct engine_need need;
            writing_fixture_prepare(&f, doc_array_item(f.cases, i), &writing, &inputs[count],
                                    &need);
            tokens += inputs[count].tokens;
            if (tokens > most)
                break;
            results[count] = writing_fixture_room(&f, &inputs[count]);
            input_at[count] = &inputs[count];
            result_at[count] = &results[count];
            count++;
        }
        ck_assert_uint_gt(count, 0);
        engine_run(f.session, input_at, count, result_at);
        for (unsigned i = 0; i < count; i++) {
            struct engine_result alone = writing_fixture_room(&f, &inputs[i]);
            engine_run(f.session, &input_at[i], 1, (struct engine_result *[]){&alone});
            ck_assert(!engine_result_texts(&alone, &f.arena, &f.err));
            ck_assert(!engine_result_texts(&results[i], &f.arena, &f.err));
            ck_assert_uint_eq(alone.text_count, results[i].text_count);
            ck_assert_str_eq(alone.texts[0].text, results[i].texts[0].text);
            ck_assert_mem_eq(&alone.texts[0].score, &results[i].texts[0].score, sizeof(float));
        }
        writing_fixture_close(&f);
    }
}
END_TEST

/* An empty text is one token, as for transformers: as many as a session has tokens for. */
START_TEST(a_batch_of_empty_texts_is_written)
{
    struct writing_fixture f;
    struct engine_writing writing = {.asked = generation_request_empty};
    writing_fixture_open(&f, "t5-0");
    const unsigned count = engine_describe(f.model)->tokens_max;
    struct engine_input *inputs = arena_alloc_array(&f.arena, count, sizeof *inputs);
    struct engine_result *results = arena_alloc_array(&f.arena, count, sizeof *results);
    const struct engine_input **input_at = arena_alloc_array(&f.arena, count, sizeof *input_at);
    struct engine_result **result_at = arena_alloc_array(&f.arena, count, sizeof *result_at);
    writing.asked.max_new_tokens = 2;
    for (unsigned i = 0; i < count; i++) {
        ck_assert(!engine_prepare(f.model, text_source_with("", .writing = &writing), NULL,
                                  &f.arena, &inputs[i], &f.err));
        ck_assert_uint_eq(inputs[i].tokens, 1);
        results[i] = writing_fixture_room(&f, &inputs[i]);
        input_at[i] = &inputs[i];
        result_at[i] = &results[i];
    }
    engine_run(f.session, input_at, count, result_at);
    for (unsigned i = 0; i < count; i++) {
        ck_assert(!engine_result_texts(&results[i], &f.arena, &f.err));
        ck_assert_uint_eq(results[i].text_count, 1);
        ck_assert_str_eq(results[i].texts[0].text, results[0].texts[0].text);
    }
    writing_fixture_close(&f);
}
END_TEST

static void refuse(struct writing_fixture *f, const struct engine_source *source, const char *why)
{
    struct engine_input input = {0};
    f->err = (struct err){0};
    ck_assert_int_eq(engine_prepare(f->model, source, NULL, &f->arena, &input, &f->err),
                     ERR_UNUSABLE);
    ck_assert_msg(strstr(f->err.text, why) != NULL, "%s", f->err.text);
}

START_TEST(options_of_writing_are_obeyed_or_refused_by_name)
{
    struct writing_fixture f;
    struct engine_writing writing = {.asked = generation_request_empty};
    writing_fixture_open(&f, "mbart-0");
    writing.target_language = "xx";
    refuse(&f, text_source_with("a", .writing = &writing), "target_language");
    writing.target_language = NULL;
    writing.source_language = "xx";
    refuse(&f, text_source_with("a", .writing = &writing), "source_language");
    writing.source_language = NULL;
    writing.asked.num_beams = 9;
    refuse(&f, text_source_with("a", .writing = &writing), "num_beams");
    writing.asked = generation_request_empty;
    writing.asked.max_new_tokens = 0;
    refuse(&f, text_source_with("a", .writing = &writing), "max_new_tokens");
    refuse(&f, text_source_with("a", .pair = "b", .pair_len = 1), "one text");
    refuse(&f, text_source_with("a", .reading.long_text = LONG_TEXT_WINDOWS), "long_text");
    refuse(&f, text_source_with("a", .question.text = "why", .question.len = 3), "question");
    writing_fixture_close(&f);
}
END_TEST

/* The error of a source, of ERR_UNUSABLE or none. */
static const char *refusal(struct writing_fixture *f, const struct engine_source *source)
{
    struct engine_input input = {0};
    f->err = (struct err){0};
    const enum err_code code = engine_prepare(f->model, source, NULL, &f->arena, &input, &f->err);
    ck_assert(code == ERR_OK || code == ERR_UNUSABLE);
    return code == ERR_OK ? NULL : f->err.text;
}

START_TEST(what_is_told_of_a_model_is_what_requests_may_ask_for)
{
    unsigned languages = 0;
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        struct engine_writing writing = {.asked = generation_request_empty};
        writing_fixture_open(&f, writing_names[m]);
        const struct engine_info *info = engine_describe(f.model);
        if (info->kind == ENGINE_TEXT) {
            const struct engine_source *source = text_source_with("a die", .writing = &writing);
            const struct engine_writes *writes = info->writes;
            writing.asked.max_new_tokens = writes->new_tokens_max;
            ck_assert_ptr_null(refusal(&f, source));
            writing.asked.max_new_tokens++;
            ck_assert_ptr_nonnull(refusal(&f, source));
            ck_assert_uint_le(writes->config->new_max, writes->new_tokens_max);
            writing.asked = generation_request_empty;
            const char **const asked[] = {&writing.source_language, &writing.target_language};
            const char *const *const told[] = {writes->source_languages, writes->target_languages};
            const unsigned counts[] = {writes->source_language_count,
                                       writes->target_language_count};
            for (unsigned side = 0; side < 2; side++) {
                for (unsigned i = 0; i < counts[side]; i++, languages++) {
                    *asked[side] = told[side][i];
                    ck_assert_msg(refusal(&f, source) == NULL, "%s: %s", writing_names[m],
                                  f.err.text);
                }
                *asked[side] = "none of them";
                ck_assert_ptr_nonnull(refusal(&f, source));
                *asked[side] = NULL;
            }
        }
        writing_fixture_close(&f);
    }
    ck_assert_uint_gt(languages, 100);
}
END_TEST

START_TEST(what_a_model_that_writes_cannot_obey_is_refused_by_name)
{
    struct writing_fixture f = {0};
    char dir[WRITING_PATH_BYTES];
    writing_fixture_gather(&f, "t5-0", dir);
    const struct engine_options prior = {.writes_texts = true, .class_prior = "equal"};
    ck_assert_int_eq(engine_open(&f.model, dir, &prior, &f.err), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(f.err.text, "class_prior") != NULL, "%s", f.err.text);
    f.err = (struct err){0};
    if (getenv("ATTND_GOLDEN") == NULL) { /* the directory is ours */
        static const char settings[] = "{\"class_codes\": {}}", crc[] = "{\"checksum\": \"crc\"}";
        tempdir_write(&f.dir, "attnd.json", settings, sizeof settings - 1);
        const struct engine_options plain = {.writes_texts = true};
        ck_assert_int_eq(engine_open(&f.model, dir, &plain, &f.err), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(f.err.text, "attnd.json: $.class_codes") != NULL, "%s", f.err.text);
        f.err = (struct err){0};
        tempdir_write(&f.dir, "attnd.json", crc, sizeof crc - 1);
        ck_assert_int_eq(engine_open(&f.model, dir, &plain, &f.err), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(f.err.text, "attnd.json: $.checksum") != NULL, "%s", f.err.text);
    }
    tempdir_close(&f.dir);
}
END_TEST

/* Opening a model refuses a file that would fail each request, by the file's name. */
START_TEST(a_model_that_could_write_no_text_is_not_opened)
{
    static const char banned[] = "{\"decoder_start_token_id\": 3, \"eos_token_id\": 0, "
                                 "\"forced_bos_token_id\": 5, \"suppress_tokens\": [5]}";
    const struct engine_options options = {.writes_texts = true};
    struct engine_model *model;
    struct tempdir dir;
    struct err err = {0};
    writing_model_open(&dir, "marian-0");
    tempdir_write(&dir, "generation_config.json", banned, sizeof banned - 1);
    ck_assert_int_eq(engine_open(&model, dir.path, &options, &err), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "generation_config.json: $.forced_bos_token_id: ") != NULL, "%s",
                  err.text);
    tempdir_close(&dir);
}
END_TEST

/* The first case's answer, with this attnd.json. */
static struct judgement judge(const char *settings, float *confidence)
{
    struct writing_fixture f;
    struct engine_input input;
    writing_fixture_open_with(&f, "t5-0", settings);
    const struct engine_result result = write_one(&f, doc_array_item(f.cases, 0), 1, false, &input);
    *confidence = result.texts[0].confidence;
    double sum = 0;
    for (unsigned t = 0; t < result.texts[0].count; t++)
        sum += (double)result.texts[0].probabilities[t];
    ck_assert_double_eq_tol((double)result.texts[0].log_probability, sum, 1e-5);
    if (strstr(settings, "scale") == NULL)
        ck_assert_double_eq_tol((double)*confidence, exp(sum), 1e-6);
    writing_fixture_close(&f);
    return result.judgement;
}

START_TEST(texts_are_judged_by_their_confidence)
{
    float confidence, other;
    struct judgement judgement = judge("{}", &confidence);
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert(judgement.uncalibrated);
    judgement = judge("{\"uncalibrated\": \"auto\"}", &confidence);
    ck_assert_int_eq(judgement.decision, DECISION_AUTO);
    judgement = judge("{\"thresholds\": {\"text\": 0.001}}", &confidence);
    ck_assert_int_eq(judgement.decision, DECISION_AUTO);
    judgement = judge("{\"thresholds\": {\"text\": 0.999}}", &confidence);
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert_float_eq_tol(judgement.score, confidence, 1e-7f);
    ck_assert_float_eq_tol(judgement.threshold, 0.999f, 1e-7f);
    judgement = judge("{\"thresholds\": {\"text\": null}}", &confidence);
    ck_assert(judgement.never);
    judge("{\"confidence\": {\"scale\": 1, \"shift\": 2}}", &other);
    ck_assert_double_eq_tol(
        (double)other, 1 / (1 + exp(-(log((double)confidence / (1 - (double)confidence)) + 2))),
        1e-6);
}
END_TEST

/* attnd.json's check characters hold where a request says nothing. */
START_TEST(texts_obey_the_checksum_of_attnd_json_unless_they_are_asked_not_to)
{
    const enum engine_checksum asked[] = {ENGINE_CHECKSUM_OWN, ENGINE_CHECKSUM_NONE};
    for (unsigned i = 0; i < 2; i++) {
        struct writing_fixture f;
        struct engine_writing writing = {.asked = generation_request_empty, .checksum = asked[i]};
        struct engine_input input = {0};
        struct engine_need need;
        writing_fixture_open_with(&f, "t5-0", "{\"checksum\": \"semi-m13\"}");
        const size_t before = f.arena.bytes;
        writing_fixture_prepare(&f, doc_array_item(f.cases, 0), &writing, &input, &need);
        ck_assert_uint_le(f.arena.bytes - before, need.kept);
        struct engine_result result = writing_fixture_room(&f, &input);
        engine_run(f.session, (const struct engine_input *[]){&input}, 1,
                   (struct engine_result *[]){&result});
        ck_assert(!engine_result_texts(&result, &f.arena, &f.err));
        ck_assert_uint_eq(result.text_count, i);
        if (i == 0)
            ck_assert_str_eq(result.broken_rule, "checksum");
        writing_fixture_close(&f);
    }
}
END_TEST

/* A threshold vouches for texts with the checksum that it was fitted with, or without any. Without
 * a threshold no text is automatic, for its own reason. */
START_TEST(texts_with_another_checksum_than_the_threshold_s_go_to_review)
{
    static const struct {
        const char *settings;
        enum engine_checksum asked;
        bool is_other;
    } cases[] = {
        {"{\"thresholds\": {\"text\": 0}, \"checksum\": \"semi-m13\"}", ENGINE_CHECKSUM_NONE, true},
        {"{\"thresholds\": {\"text\": 0}}", ENGINE_CHECKSUM_NONE, false},
        {"{\"thresholds\": {\"text\": 0}}", ENGINE_CHECKSUM_OWN, false},
        {"{\"checksum\": \"semi-m13\"}", ENGINE_CHECKSUM_NONE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct writing_fixture f;
        struct engine_writing writing = {.asked = generation_request_empty,
                                         .checksum = cases[i].asked};
        struct engine_input input = {0};
        struct engine_need need;
        writing_fixture_open_with(&f, "t5-0", cases[i].settings);
        writing_fixture_prepare(&f, doc_array_item(f.cases, 0), &writing, &input, &need);
        struct engine_result result = writing_fixture_room(&f, &input);
        engine_run(f.session, (const struct engine_input *[]){&input}, 1,
                   (struct engine_result *[]){&result});
        ck_assert(!engine_result_texts(&result, &f.arena, &f.err));
        ck_assert_uint_eq(result.text_count, 1);
        ck_assert_msg(result.judgement.other_checksum == cases[i].is_other, "case %zu", i);
        ck_assert_int_eq(result.judgement.decision,
                         i == 1 || i == 2 ? DECISION_AUTO : DECISION_REVIEW);
        writing_fixture_close(&f);
    }
}
END_TEST

/* SentencePiece's normaliser walks over characters, and relies on whole ones. */
START_TEST(a_text_that_is_not_utf8_is_refused_by_each_model_that_writes)
{
    static const char *const texts[] = {"\xDF?\x1A", "V\xE9rifi\xE9", "a\xF0\x9F\x99"};
    for (size_t m = 0; m < WRITING_NAMES; m++) {
        struct writing_fixture f;
        writing_fixture_open(&f, writing_names[m]);
        const bool reads_texts = engine_reads(engine_describe(f.model), ENGINE_TEXT);
        for (size_t t = 0; reads_texts && t < sizeof texts / sizeof *texts; t++) {
            struct engine_input input;
            struct err err = {0};
            ck_assert_int_eq(
                engine_prepare(f.model, text_source(texts[t]), NULL, &f.arena, &input, &err),
                ERR_UNUSABLE);
            ck_assert_msg(strstr(err.text, "invalid UTF-8 at byte") != NULL, "%s", err.text);
        }
        writing_fixture_close(&f);
    }
}
END_TEST

START_TEST(a_program_that_answers_no_texts_refuses_the_model)
{
    struct writing_fixture f = {0};
    char dir[WRITING_PATH_BYTES];
    writing_fixture_gather(&f, "t5-0", dir);
    ck_assert_int_eq(engine_open(&f.model, dir, &(struct engine_options){0}, &f.err),
                     ERR_UNSUPPORTED);
    ck_assert_msg(strstr(f.err.text, "writes texts") != NULL, "%s", f.err.text);
    ck_assert_int_eq(engine_check(dir, &(struct engine_options){0}, &f.err), ERR_UNSUPPORTED);
    tempdir_close(&f.dir);
}
END_TEST

SUITE("writing", texts_are_those_of_generate,
      texts_obey_the_checksum_of_attnd_json_unless_they_are_asked_not_to,
      texts_with_another_checksum_than_the_threshold_s_go_to_review,
      texts_are_judged_by_their_confidence, a_model_that_could_write_no_text_is_not_opened,
      teaching_gives_the_recorded_probabilities,
      alignments_have_the_pieces_of_the_text_and_all_weights,
      pieces_of_a_text_in_the_making_make_the_text,
      a_start_that_is_an_ordinary_token_is_in_the_text,
      alignments_are_the_cross_attention_of_each_token,
      a_text_does_not_depend_on_what_shares_its_batch, a_batch_of_empty_texts_is_written,
      options_of_writing_are_obeyed_or_refused_by_name,
      what_is_told_of_a_model_is_what_requests_may_ask_for,
      what_a_model_that_writes_cannot_obey_is_refused_by_name,
      a_text_that_is_not_utf8_is_refused_by_each_model_that_writes,
      a_program_that_answers_no_texts_refuses_the_model)
