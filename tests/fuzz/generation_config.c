/* generation_config.json of a checkpoint, or the members of its config.json. */
#include "engine/generate/generation_config.h"
#include "engine/base/arena.h"

#include "tests/fuzz/driver/fuzz.h"

static const struct generation_model model = {.vocabulary = 50, .positions = 128};

static void check_ids(const struct token_ids *ids, unsigned most)
{
    FUZZ_CLAIM(ids->count <= most);
    for (unsigned i = 0; i < ids->count; i++)
        FUZZ_CLAIM(ids->at[i] < model.vocabulary);
}

static void check(const struct generation_config *config)
{
    FUZZ_CLAIM(config->start < model.vocabulary);
    FUZZ_CLAIM(config->first < model.vocabulary || config->first == generation_no_token);
    check_ids(&config->ends, GENERATION_ENDS_MAX);
    check_ids(&config->last, GENERATION_ENDS_MAX);
    check_ids(&config->suppressed, GENERATION_BANNED_MAX);
    check_ids(&config->suppressed_first, GENERATION_BANNED_MAX);
    for (unsigned w = 0; w < config->bad_word_count; w++) {
        FUZZ_CLAIM(config->bad_words[w].count >= 1);
        check_ids(&config->bad_words[w], GENERATION_BANNED_MAX);
    }
    FUZZ_CLAIM(config->new_max >= 1 && config->new_max <= model.positions);
    FUZZ_CLAIM(config->beams >= 1 && config->beams <= GENERATION_BEAMS_MAX);
    FUZZ_CLAIM(config->sequences >= 1 && config->sequences <= config->beams);
    FUZZ_CLAIM(config->no_repeat <= GENERATION_NGRAM_MAX);
    FUZZ_CLAIM(config->length_penalty >= -2 && config->length_penalty <= GENERATION_PENALTY_MAX);
    FUZZ_CLAIM(generation_candidates(config) <= config->beams * model.vocabulary);
}

/* A request over what was read, with options out of the input. */
static void check_request(struct generation_config *config, const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct generation_request request = generation_request_empty;
    struct err err = {0};
    request.max_new_tokens = (long long)fuzz_byte(&input) - 20;
    request.num_beams = (long long)(fuzz_byte(&input) % 12) - 1;
    request.num_return_sequences = fuzz_byte(&input) % 10;
    request.length_penalty = (double)fuzz_byte(&input) / 16 - 4;
    if (generation_config_ask(config, &request, &model, &err) == ERR_OK)
        check(config);
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_UNUSABLE);
    fuzz_check_err(&err);
}

static void read_as(const char *name, const uint8_t *data, size_t size)
{
    struct generation_config config;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    fuzz_file(name, data, size);
    if (generation_config_read(&config, fuzz_dir(), &model, &arena, &err) == ERR_OK) {
        check(&config);
        check_request(&config, data, size);
    }
    fuzz_check_err(&err);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file_remove("generation_config.json");
    read_as("config.json", data, size);
    read_as("generation_config.json", data, size);
    return 0;
}
