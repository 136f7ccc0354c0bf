/* Members of generation_config.json and of older config.json, and a request's options. */
#include "engine/base/doc.h"
#include "engine/generate/generation_config.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct generation_model model = {.vocabulary = 100, .positions = 512};

static struct arena arena;
static struct generation_config config;
static struct err err;

/* Reads the members of generation_config.json. */
static enum err_code parse(const char *text)
{
    struct json_t *object;
    err = (struct err){0};
    arena_deinit(&arena);
    ck_assert_msg(!doc_parse(&object, text, strlen(text), &doc_limits_file, &err), "%s", err.text);
    enum err_code code = generation_config_parse(&config, object, &model, &arena, &err);
    doc_free(object);
    return code;
}

static void expect_ids(const struct token_ids *ids, unsigned count, const uint32_t *expected)
{
    ck_assert_uint_eq(ids->count, count);
    ck_assert_mem_eq(ids->at, expected, count * sizeof *expected);
}

START_TEST(generation_config_has_the_defaults_of_transformers_and_64_tokens)
{
    ck_assert_msg(!parse("{\"decoder_start_token_id\": 7}"), "%s", err.text);
    ck_assert_uint_eq(config.start, 7);
    ck_assert_uint_eq(config.first, generation_no_token);
    ck_assert_uint_eq(config.ends.count + config.last.count + config.suppressed.count +
                          config.suppressed_first.count + config.bad_word_count,
                      0);
    ck_assert_uint_eq(config.new_min, 0);
    ck_assert_uint_eq(config.new_max, 64);
    ck_assert_uint_eq(config.no_repeat, 0);
    ck_assert_uint_eq(config.beams, 1);
    ck_assert_uint_eq(config.sequences, 1);
    ck_assert(config.length_penalty == 1 && config.early_stopping == STOPPING_ESTIMATED);
    ck_assert(!config.renormalizes);
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_config_reads_every_member)
{
    ck_assert_msg(!parse("{\"bos_token_id\": 1, \"eos_token_id\": [2, 5], \"pad_token_id\": 3, "
                         "\"forced_bos_token_id\": 9, \"forced_eos_token_id\": 2, "
                         "\"bad_words_ids\": [[4], [2], [5, 6], [2, 5]], \"suppress_tokens\": [8], "
                         "\"begin_suppress_tokens\": [10, 11], \"max_length\": 31, "
                         "\"min_length\": 4, \"num_beams\": 8, \"num_return_sequences\": 3, "
                         "\"no_repeat_ngram_size\": 3, \"length_penalty\": -0.5, "
                         "\"early_stopping\": \"never\", \"renormalize_logits\": true, "
                         "\"transformers_version\": \"4.57.6\", \"unknown\": {}}"),
                  "%s", err.text);
    ck_assert_uint_eq(config.start, 1); /* nothing else says */
    ck_assert_uint_eq(config.first, 9);
    expect_ids(&config.ends, 2, (uint32_t[]){2, 5});
    expect_ids(&config.last, 1, (uint32_t[]){2});
    expect_ids(&config.suppressed, 1, (uint32_t[]){8});
    expect_ids(&config.suppressed_first, 2, (uint32_t[]){10, 11});
    ck_assert_uint_eq(config.bad_word_count, 3); /* [2] is an end */
    expect_ids(&config.bad_words[0], 1, (uint32_t[]){4});
    expect_ids(&config.bad_words[1], 2, (uint32_t[]){5, 6});
    expect_ids(&config.bad_words[2], 2, (uint32_t[]){2, 5});
    ck_assert_uint_eq(config.new_max, 30);
    ck_assert_uint_eq(config.new_min, 3);
    ck_assert_uint_eq(config.beams, 8);
    ck_assert_uint_eq(config.sequences, 3);
    ck_assert_uint_eq(config.no_repeat, 3);
    ck_assert(config.length_penalty == -0.5 && config.early_stopping == STOPPING_NEVER);
    ck_assert(config.renormalizes);
    ck_assert_uint_eq(generation_candidates(&config), 24);
    arena_deinit(&arena);
}
END_TEST

#define START "{\"decoder_start_token_id\": 0, "

START_TEST(generation_config_prefers_new_tokens_to_lengths)
{
    ck_assert(!parse(START "\"max_length\": 31, \"max_new_tokens\": 5, \"min_length\": 9, "
                           "\"min_new_tokens\": 2}"));
    ck_assert_uint_eq(config.new_max, 5);
    ck_assert_uint_eq(config.new_min, 2);
    ck_assert(!parse(START "\"max_length\": 20}")); /* transformers: 20 behind the start */
    ck_assert_uint_eq(config.new_max, 20);
    ck_assert(!parse(START "\"max_length\": 100000}")); /* as many as the decoder takes */
    ck_assert_uint_eq(config.new_max, 512);
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_config_takes_values_that_change_nothing)
{
    ck_assert_msg(
        !parse(START "\"do_sample\": false, \"temperature\": 0.7, \"top_k\": 5, \"top_p\": 0.9, "
                     "\"typical_p\": 0.5, \"num_beam_groups\": 1, \"diversity_penalty\": 0.0, "
                     "\"repetition_penalty\": 1.0, \"encoder_no_repeat_ngram_size\": 0, "
                     "\"penalty_alpha\": null, \"constraints\": null, \"guidance_scale\": 1, "
                     "\"remove_invalid_values\": false, \"stop_strings\": null, "
                     "\"low_memory\": false, \"bad_words_ids\": [], \"forced_bos_token_id\": null, "
                     "\"use_cache\": false, \"output_scores\": true}"),
        "%s", err.text);
    arena_deinit(&arena);
}
END_TEST

static const char *const refused[] = {
    "\"do_sample\": true",
    "\"num_beam_groups\": 2",
    "\"diversity_penalty\": 0.5",
    "\"penalty_alpha\": 0.6",
    "\"constraints\": []",
    "\"force_words_ids\": [[1]]",
    "\"dola_layers\": \"high\"",
    "\"prompt_lookup_num_tokens\": 3",
    "\"assistant_early_exit\": 4",
    "\"low_memory\": true",
    "\"repetition_penalty\": 1.2",
    "\"encoder_repetition_penalty\": 0.9",
    "\"encoder_no_repeat_ngram_size\": 3",
    "\"exponential_decay_length_penalty\": [5, 1.1]",
    "\"sequence_bias\": [[[1], 2.0]]",
    "\"guidance_scale\": 1.5",
    "\"watermarking_config\": {}",
    "\"remove_invalid_values\": true",
    "\"forced_decoder_ids\": [[1, 2]]",
    "\"token_healing\": true",
    "\"max_time\": 1.5",
    "\"stop_strings\": [\"x\"]",
    "\"do_sample\": \"yes\"",
};

START_TEST(generation_config_refuses_by_name_what_changes_the_answer)
{
    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++) {
        char text[256], name[64], expected[128];
        snprintf(text, sizeof text, START "%s}", refused[r]);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(refused[r] + 1, "\""), refused[r] + 1);
        snprintf(expected, sizeof expected, "$.%s is not supported: ", name);
        ck_assert_int_eq(parse(text), ERR_UNSUPPORTED);
        ck_assert_msg(strncmp(err.text, expected, strlen(expected)) == 0, "%s: %s", text, err.text);
    }
    arena_deinit(&arena);
}
END_TEST

static const struct {
    const char *members, *what;
} hostile[] = {
    {"\"eos_token_id\": -1", "$.eos_token_id"},
    {"\"eos_token_id\": 100", "$.eos_token_id"},
    {"\"eos_token_id\": 1.5", "$.eos_token_id"},
    {"\"eos_token_id\": \"2\"", "$.eos_token_id"},
    {"\"eos_token_id\": {}", "$.eos_token_id"},
    {"\"eos_token_id\": [2, -1]", "$.eos_token_id[1]: expected a token id below"},
    {"\"eos_token_id\": [2, [3]]", "$.eos_token_id[1]"},
    {"\"eos_token_id\": [1e30]", "$.eos_token_id[0]"},
    {"\"eos_token_id\": [0, 1, 2, 3, 4, 5, 6, 7, 8]", "$.eos_token_id: 9 tokens (limit 8)"},
    {"\"forced_eos_token_id\": [0, 1, 2, 3, 4, 5, 6, 7, 8]", "9 tokens (limit 8)"},
    {"\"forced_bos_token_id\": 100", "$.forced_bos_token_id"},
    {"\"forced_bos_token_id\": [1]", "$.forced_bos_token_id"},
    {"\"decoder_start_token_id\": [1, 2]", "$.decoder_start_token_id"},
    {"\"bad_words_ids\": 5", "$.bad_words_ids: expected an array"},
    {"\"bad_words_ids\": [5]", "$.bad_words_ids[0]: expected a list of token ids"},
    {"\"bad_words_ids\": [[1], []]", "$.bad_words_ids[1]: expected a list of token ids"},
    {"\"bad_words_ids\": [[1, 100]]", "$.bad_words_ids[0][1]: expected a token id"},
    {"\"suppress_tokens\": [-1]", "$.suppress_tokens[0]"},
    {"\"begin_suppress_tokens\": [\"a\"]", "$.begin_suppress_tokens[0]"},
    {"\"max_length\": 1", "$.max_length"},
    {"\"max_length\": -5", "$.max_length"},
    {"\"max_new_tokens\": 0", "$.max_new_tokens"},
    {"\"min_length\": -1", "$.min_length"},
    {"\"min_new_tokens\": 1e99", "$.min_new_tokens"},
    {"\"num_beams\": 0", "$.num_beams"},
    {"\"num_beams\": 9", "$.num_beams"},
    {"\"num_beams\": true", "$.num_beams"},
    {"\"num_return_sequences\": 2", "$.num_return_sequences"},
    {"\"num_beams\": 2, \"num_return_sequences\": 3", "$.num_return_sequences"},
    {"\"no_repeat_ngram_size\": -1", "$.no_repeat_ngram_size"},
    {"\"no_repeat_ngram_size\": 1025", "$.no_repeat_ngram_size"},
    {"\"length_penalty\": 11", "$.length_penalty: expected -2 to 10"},
    {"\"length_penalty\": -2.1", "$.length_penalty: expected -2 to 10"},
    {"\"length_penalty\": \"1\"", "$.length_penalty"},
    {"\"early_stopping\": \"always\"", "$.early_stopping: expected true, false or \"never\""},
    {"\"early_stopping\": 1", "$.early_stopping"},
    {"\"renormalize_logits\": 1", "$.renormalize_logits"},
};

START_TEST(generation_config_refuses_hostile_values_by_name)
{
    for (size_t h = 0; h < sizeof hostile / sizeof *hostile; h++) {
        char text[256];
        const bool has_start = strstr(hostile[h].members, "decoder_start") != NULL;
        snprintf(text, sizeof text, "%s%s}", has_start ? "{" : START, hostile[h].members);
        ck_assert_msg(parse(text), "%s", text);
        ck_assert_msg(strstr(err.text, hostile[h].what) != NULL, "%s: %s", text, err.text);
    }
    ck_assert_int_eq(parse("{\"eos_token_id\": 2}"), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "neither $.decoder_start_token_id nor $.bos_token_id"));
    arena_deinit(&arena);
}
END_TEST

/* list <- the tokens from `first` to 99, each behind `before` and before `after`. */
static void put_tokens(char list[1024], unsigned first, const char *before, const char *after)
{
    size_t len = 0;
    for (unsigned t = first; t < model.vocabulary; t++)
        len += (size_t)snprintf(list + len, 1024 - len, "%s%s%u%s", t > first ? ", " : "", before,
                                t, after);
}

/* Members that leave each text without a token somewhere: every request would fail. */
START_TEST(generation_config_refuses_what_leaves_no_text)
{
    static const struct {
        const char *members, *what; /* %s: all tokens but 0 and 1; NULL: it can be written */
    } rows[] = {
        {"\"suppress_tokens\": [0, 1, %s]", "$.bad_words_ids ban each of the 100 tokens: no text"},
        {"\"suppress_tokens\": [1, %s], \"bad_words_ids\": [[0]]", "$.suppress_tokens, "},
        {"\"suppress_tokens\": [1, %s], \"bad_words_ids\": [[0, 1]]", NULL},
        {"\"suppress_tokens\": [1, %s], \"begin_suppress_tokens\": [0]", "ban each of the 100"},
        {"\"suppress_tokens\": [1, %s], \"eos_token_id\": 0", NULL}, /* the empty text */
        {"\"suppress_tokens\": [1, %s], \"eos_token_id\": 0, \"min_length\": 2",
         "tokens, with the ends, which the least length bans: no text"},
        {"\"suppress_tokens\": [1, %s], \"eos_token_id\": 0, \"forced_bos_token_id\": 0, "
         "\"min_length\": 2",
         NULL},
        {"\"begin_suppress_tokens\": [0, 1, %s], \"max_new_tokens\": 1, "
         "\"forced_bos_token_id\": 5",
         NULL}, /* the only token is forced */
        {"\"begin_suppress_tokens\": [0, 1, %s], \"forced_bos_token_id\": 5", "ban each of"},
        {"\"forced_bos_token_id\": 5, \"suppress_tokens\": [4, 5]",
         "$.forced_bos_token_id: token 5 is one of $.suppress_tokens: "},
        {"\"forced_bos_token_id\": 5, \"begin_suppress_tokens\": [5]", NULL},
        {"\"forced_bos_token_id\": 5, \"suppress_tokens\": [5], \"forced_eos_token_id\": 2, "
         "\"max_new_tokens\": 1",
         NULL}, /* the only token is the last */
        {"\"forced_eos_token_id\": [2, 3], \"suppress_tokens\": [3]", NULL},
        {"\"forced_eos_token_id\": [2, 3], \"suppress_tokens\": [2, 3], \"max_length\": 9",
         "$.forced_eos_token_id: suppress_tokens or begin_suppress_tokens ban it where it is "
         "forced, "
         "as new token 8, and no text can end before"},
        {"\"forced_eos_token_id\": 2, \"suppress_tokens\": [2], \"eos_token_id\": 3", NULL},
        {"\"forced_eos_token_id\": 2, \"suppress_tokens\": [2], \"eos_token_id\": 3, "
         "\"max_length\": 9, \"min_length\": 8",
         "as new token 8, and no text"},
        {"\"forced_eos_token_id\": 2, \"suppress_tokens\": [2], \"eos_token_id\": 3, "
         "\"max_new_tokens\": 2, \"begin_suppress_tokens\": [3]",
         "as new token 2, and no text"},
        {"\"forced_bos_token_id\": 3, \"eos_token_id\": 3, \"forced_eos_token_id\": 2, "
         "\"suppress_tokens\": [2], \"max_new_tokens\": 2",
         NULL}, /* the forced first token ends it */
        {"\"forced_bos_token_id\": 3, \"eos_token_id\": 3, \"forced_eos_token_id\": 2, "
         "\"suppress_tokens\": [2], \"max_new_tokens\": 1",
         "as new token 1, and no text"},
        {"\"forced_eos_token_id\": 2, \"begin_suppress_tokens\": [2]", NULL},
        {"\"forced_eos_token_id\": 2, \"begin_suppress_tokens\": [2], \"max_new_tokens\": 1",
         "as new token 1, "},
        {"\"min_length\": 10, \"max_length\": 9",
         "$.min_length: at least 9 new tokens, and at most 8 may be written"},
        {"\"min_new_tokens\": 600, \"max_length\": 700",
         "$.min_new_tokens: at least 600 new tokens, and at most 512 may be written"},
        {"\"min_length\": 9, \"max_length\": 9", NULL},
        {"\"pad_token_id\": 5000", NULL}, /* texts are not padded here */
    };
    char tokens[1024], members[2048], text[4096];
    put_tokens(tokens, 2, "", "");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const char *place = strstr(rows[r].members, "%s");
        const int before = place != NULL ? (int)(place - rows[r].members) : 0;
        snprintf(members, sizeof members, "%.*s%s%s", before, rows[r].members,
                 place != NULL ? tokens : "", place != NULL ? place + 2 : rows[r].members);
        snprintf(text, sizeof text, START "%s}", members);
        ck_assert_msg(parse(text) == (rows[r].what != NULL ? ERR_UNSUPPORTED : ERR_OK), "%s: %s",
                      rows[r].members, err.text);
        ck_assert_msg(rows[r].what == NULL || strstr(err.text, rows[r].what) != NULL, "%s: %s",
                      rows[r].members, err.text);
    }
    put_tokens(tokens, 0, "[", "]");
    snprintf(text, sizeof text, START "\"bad_words_ids\": [%s]}", tokens);
    ck_assert_int_eq(parse(text), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "$.bad_words_ids ban each of the 100") != NULL, "%s", err.text);
    arena_deinit(&arena);
}
END_TEST

/* ---- files ---- */

static struct tempdir dir;

static void write_file(const char *name, const char *text)
{
    tempdir_write(&dir, name, text, strlen(text));
}

START_TEST(generation_config_reads_its_own_file_before_config_json)
{
    tempdir_open(&dir);
    err = (struct err){0};
    write_file("config.json", "{\"model_type\": \"bart\", \"num_beams\": 7, \"eos_token_id\": 9}");
    write_file("generation_config.json", "{\"decoder_start_token_id\": 2, \"num_beams\": 3}");
    ck_assert_msg(!generation_config_read(&config, dir.path, &model, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(config.beams, 3);
    ck_assert_uint_eq(config.ends.count, 0); /* and nothing of config.json */
    write_file("generation_config.json", "{\"decoder_start_token_id\": 2, \"num_beams\": 0}");
    ck_assert(generation_config_read(&config, dir.path, &model, &arena, &err));
    ck_assert_msg(strncmp(err.text, "generation_config.json: $.num_beams", 35) == 0, "%s",
                  err.text);
    err = (struct err){0};
    write_file("generation_config.json", "[]");
    ck_assert(generation_config_read(&config, dir.path, &model, &arena, &err));
    ck_assert_str_eq(err.text, "generation_config.json: expected an object, found an array");
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

/* GenerationMixin._prepare_generation_config: a file made of config.json gives way to it. */
START_TEST(generation_config_of_config_json_gives_way_to_it)
{
    tempdir_open(&dir);
    err = (struct err){0};
    write_file("generation_config.json", "{\"_from_model_config\": true, \"num_beams\": 3, "
                                         "\"decoder_start_token_id\": 2}");
    write_file("config.json", "{\"model_type\": \"bart\", \"num_beams\": 1, \"max_length\": 20}");
    ck_assert(!generation_config_read(&config, dir.path, &model, &arena, &err));
    ck_assert_uint_eq(config.beams, 3); /* config.json has defaults alone */
    write_file("config.json", "{\"model_type\": \"bart\", \"num_beams\": 5}");
    ck_assert(!generation_config_read(&config, dir.path, &model, &arena, &err));
    ck_assert_uint_eq(config.beams, 5);
    /* The default of its class counts as one, and a member that is obeyed nowhere as a change. */
    write_file("config.json", "{\"model_type\": \"bart\", \"forced_eos_token_id\": 2}");
    ck_assert(!generation_config_read(&config, dir.path, &model, &arena, &err));
    ck_assert_uint_eq(config.beams, 3);
    write_file("config.json", "{\"model_type\": \"bart\", \"forced_eos_token_id\": 1}");
    ck_assert(!generation_config_read(&config, dir.path, &model, &arena, &err));
    ck_assert_uint_eq(config.beams, 1);
    write_file("config.json", "{\"model_type\": \"bart\", \"temperature\": 0.5}");
    ck_assert(!generation_config_read(&config, dir.path, &model, &arena, &err));
    ck_assert_uint_eq(config.beams, 1);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

START_TEST(generation_config_falls_back_to_config_json_and_its_class)
{
    tempdir_open(&dir);
    err = (struct err){0};
    write_file("config.json", "{\"model_type\": \"bart\", \"max_length\": 20, \"num_beams\": 4}");
    ck_assert_msg(!generation_config_read(&config, dir.path, &model, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(config.start, 2);
    expect_ids(&config.ends, 1, (uint32_t[]){2});
    expect_ids(&config.last, 1, (uint32_t[]){2});
    ck_assert_uint_eq(config.beams, 4);
    ck_assert_uint_eq(config.new_max, 64); /* 20 is what every config.json had */
    write_file("config.json", "{\"model_type\": \"t5\", \"decoder_start_token_id\": 0, "
                              "\"eos_token_id\": null, \"repetition_penalty\": 2.0}");
    ck_assert(generation_config_read(&config, dir.path, &model, &arena, &err));
    ck_assert_msg(strncmp(err.text, "config.json: $.repetition_penalty", 33) == 0, "%s", err.text);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

START_TEST(generation_config_takes_from_the_decoder_what_the_whole_does_not_say)
{
    tempdir_open(&dir);
    err = (struct err){0};
    write_file("config.json",
               "{\"model_type\": \"vision-encoder-decoder\", \"num_beams\": 1, \"max_length\": 30, "
               "\"decoder\": {\"model_type\": \"trocr\", \"num_beams\": 6, \"max_length\": 40, "
               "\"decoder_start_token_id\": 3}}");
    ck_assert_msg(!generation_config_read(&config, dir.path, &model, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(config.beams, 6);    /* the whole says the default */
    ck_assert_uint_eq(config.new_max, 29); /* the whole says another */
    ck_assert_uint_eq(config.start, 3);
    expect_ids(&config.ends, 1, (uint32_t[]){2}); /* TrOCRConfig's */
    write_file("config.json",
               "{\"decoder\": {\"decoder_start_token_id\": 3, \"do_sample\": true}}");
    ck_assert(generation_config_read(&config, dir.path, &model, &arena, &err));
    ck_assert_msg(strncmp(err.text, "config.json: $.do_sample is not", 31) == 0, "%s", err.text);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

/* ---- a request ---- */

static enum err_code ask(const struct generation_request *request)
{
    err = (struct err){0};
    return generation_config_ask(&config, request, &model, &err);
}

START_TEST(generation_config_ask_changes_what_is_said)
{
    struct generation_request request = generation_request_empty;
    ck_assert(!parse(START "\"max_length\": 31, \"num_beams\": 4, \"num_return_sequences\": 4}"));
    ck_assert(!ask(&request));
    ck_assert_uint_eq(config.new_max, 30);
    ck_assert_uint_eq(config.beams, 4);
    request.max_new_tokens = 512;
    request.min_new_tokens = 6;
    request.num_beams = 2;
    request.no_repeat_ngram_size = 2;
    request.length_penalty = 0.5;
    request.first = 17;
    ck_assert_msg(!ask(&request), "%s", err.text);
    ck_assert_uint_eq(config.new_max, 512);
    ck_assert_uint_eq(config.new_min, 6);
    ck_assert_uint_eq(config.beams, 2);
    ck_assert_uint_eq(config.sequences, 2); /* not more than beams */
    ck_assert_uint_eq(config.no_repeat, 2);
    ck_assert(config.length_penalty == 0.5);
    ck_assert_uint_eq(config.first, 17);
    request.num_return_sequences = 1;
    ck_assert(!ask(&request));
    ck_assert_uint_eq(config.sequences, 1);
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_config_ask_refuses_what_leaves_no_text)
{
    struct generation_request request = generation_request_empty;
    ck_assert(!parse(START "\"suppress_tokens\": [7], \"forced_eos_token_id\": 2, "
                           "\"begin_suppress_tokens\": [2]}"));
    request.first = 7;
    ck_assert_int_eq(ask(&request), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "target_language: its token, 7, is one of the checkpoint's "
                               "suppress_tokens");
    ck_assert(!parse(START "\"forced_eos_token_id\": 2, \"begin_suppress_tokens\": [2]}"));
    request.first = generation_no_token;
    request.max_new_tokens = 1;
    ck_assert_int_eq(ask(&request), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "forced_eos_token_id: "));
    ck_assert(!parse(START "\"forced_eos_token_id\": 2, \"begin_suppress_tokens\": [2]}"));
    request.max_new_tokens = 2;
    ck_assert(!ask(&request));
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_config_ask_refuses_beyond_the_limits)
{
    const struct {
        size_t offset;
        long long value;
        const char *what;
    } bad[] = {
        {offsetof(struct generation_request, max_new_tokens), 0,
         "max_new_tokens: 0 is not in 1 to 512"},
        {offsetof(struct generation_request, max_new_tokens), 513,
         "max_new_tokens: 513 is not in 1 to 512"},
        {offsetof(struct generation_request, max_new_tokens), -1,
         "max_new_tokens: -1 is not in 1 to 512"},
        {offsetof(struct generation_request, min_new_tokens), 31,
         "min_new_tokens: 31 is not in 0 to 30"},
        {offsetof(struct generation_request, num_beams), 9, "num_beams: 9 is not in 1 to 8"},
        {offsetof(struct generation_request, num_beams), LLONG_MAX,
         "num_beams: 9223372036854775807 is not in 1 to 8"},
        {offsetof(struct generation_request, num_return_sequences), 2,
         "num_return_sequences: 2 is more than num_beams, which is 1"},
        {offsetof(struct generation_request, no_repeat_ngram_size), 1025,
         "no_repeat_ngram_size: 1025 is not in 0 to 1024"},
    };
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        struct generation_request request = generation_request_empty;
        ck_assert(!parse(START "\"max_length\": 31}"));
        memcpy((char *)&request + bad[b].offset, &bad[b].value, sizeof bad[b].value);
        ck_assert_int_eq(ask(&request), ERR_UNUSABLE);
        ck_assert_str_eq(err.text, bad[b].what);
    }
    struct generation_request request = generation_request_empty;
    request.length_penalty = INFINITY;
    ck_assert_int_eq(ask(&request), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "length_penalty: inf is not in -2 to 10");
    request = generation_request_empty;
    request.first = model.vocabulary;
    ck_assert_int_eq(ask(&request), ERR_UNUSABLE);
    ck_assert_str_eq(err.text,
                     "target_language: its token, 100, is not among the vocabulary's 100");
    arena_deinit(&arena);
}
END_TEST

SUITE("generation_config", generation_config_has_the_defaults_of_transformers_and_64_tokens,
      generation_config_reads_every_member, generation_config_prefers_new_tokens_to_lengths,
      generation_config_takes_values_that_change_nothing,
      generation_config_refuses_by_name_what_changes_the_answer,
      generation_config_refuses_hostile_values_by_name,
      generation_config_refuses_what_leaves_no_text,
      generation_config_ask_refuses_what_leaves_no_text,
      generation_config_reads_its_own_file_before_config_json,
      generation_config_of_config_json_gives_way_to_it,
      generation_config_falls_back_to_config_json_and_its_class,
      generation_config_takes_from_the_decoder_what_the_whole_does_not_say,
      generation_config_ask_changes_what_is_said, generation_config_ask_refuses_beyond_the_limits)
