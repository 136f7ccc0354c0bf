/* generation_config.c - see generation_config.h. A reader has layers of objects: what the first
 * does not say, or says as transformers' default, the next may (config.json's decoder, then the
 * defaults of the family's configuration class). */
#include "engine/generate/generation_config.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 16 * 1024 * 1024, DEFAULT_LENGTH = 20 };

const struct generation_request generation_request_empty = {
    LLONG_MIN, LLONG_MIN, LLONG_MIN, LLONG_MIN, LLONG_MIN, NAN, generation_no_token};

/* ---- members ---- */

/* Members that are obeyed, with the default of transformers' GenerationConfig; NaN: null. */
static const struct member {
    const char *name;
    double neutral;
} obeyed[] = {
    {"bad_words_ids", NAN},          {"begin_suppress_tokens", NAN}, {"bos_token_id", NAN},
    {"decoder_start_token_id", NAN}, {"early_stopping", 0},          {"eos_token_id", NAN},
    {"forced_bos_token_id", NAN},    {"forced_eos_token_id", NAN},   {"length_penalty", 1},
    {"max_length", DEFAULT_LENGTH},  {"max_new_tokens", NAN},        {"min_length", 0},
    {"min_new_tokens", NAN},         {"no_repeat_ngram_size", 0},    {"num_beams", 1},
    {"num_return_sequences", 1},     {"renormalize_logits", 0},      {"suppress_tokens", NAN},
};

static const char sampling[] = "sampling, and the same input must give the same answer";
static const char beams[] = "a search other than greedy and beam search";
static const char scores[] = "it changes the scores of tokens";
static const char stop[] = "it ends the search by something other than tokens";

static const struct {
    struct member member;
    const char *why;
} refused[] = {
    {{"do_sample", 0}, sampling},
    {{"num_beam_groups", 1}, beams},
    {{"diversity_penalty", 0}, beams},
    {{"penalty_alpha", 0}, beams},
    {{"constraints", NAN}, beams},
    {{"force_words_ids", NAN}, beams},
    {{"dola_layers", NAN}, beams},
    {{"prompt_lookup_num_tokens", NAN}, beams},
    {{"assistant_early_exit", NAN}, beams},
    {{"low_memory", 0}, beams},
    {{"is_assistant", 0}, stop},
    {{"repetition_penalty", 1}, scores},
    {{"encoder_repetition_penalty", 1}, scores},
    {{"encoder_no_repeat_ngram_size", 0}, scores},
    {{"exponential_decay_length_penalty", NAN}, scores},
    {{"sequence_bias", NAN}, scores},
    {{"guidance_scale", 1}, scores},
    {{"watermarking_config", NAN}, scores},
    {{"remove_invalid_values", 0}, scores},
    {{"forced_decoder_ids", NAN}, scores},
    {{"token_healing", 0}, scores},
    {{"max_time", NAN}, stop},
    {{"stop_strings", NAN}, stop},
};

/* Defaults of configuration classes, which save_pretrained leaves out of config.json. Below 0:
 * none.
 */
static const struct family_tokens {
    const char *model_type;
    int bos, eos, start, last;
} families[] = {
    {"bart", 0, 2, 2, 2},        {"mbart", 0, 2, -1, 2},   {"m2m_100", 0, 2, 2, -1},
    {"marian", -1, 0, 58100, 0}, {"pegasus", -1, 1, 0, 1}, {"t5", -1, 1, -1, -1},
    {"mt5", -1, 1, 0, -1},       {"umt5", -1, 1, 0, -1},   {"trocr", 0, 2, 2, -1},
};

enum { LAYERS = 2 };

struct reader {
    const struct json_t *layers[LAYERS]; /* NULL: none */
    const struct family_tokens *tokens;  /* NULL: none */
    bool is_own;                         /* the first layer is generation_config.json */
    const struct generation_model *model;
    struct arena *arena;
    struct err *err;
};

static bool is_neutral(const struct json_t *object, const struct member *member)
{
    const struct json_t *value = doc_member(object, member->name);
    bool flag = false;
    double number = NAN;
    struct err other_type = {0};
    if (value == NULL)
        return true;
    if (doc_as_number(value, &number))
        return number == member->neutral;
    if (doc_get_bool(object, "$", member->name, &flag, &other_type) != ERR_OK)
        return false;
    return (double)flag == member->neutral;
}

/* The object that says something of an obeyed member; the first, if none does. */
static const struct json_t *teller(const struct reader *reader, const char *name)
{
    for (size_t i = 0; i < sizeof obeyed / sizeof *obeyed; i++)
        if (strcmp(obeyed[i].name, name) == 0)
            for (int l = 0; l < LAYERS; l++)
                if (reader->layers[l] != NULL && !is_neutral(reader->layers[l], &obeyed[i]))
                    return reader->layers[l];
    return reader->layers[0];
}

static enum err_code refuse(const struct reader *reader)
{
    for (int l = 0; l < LAYERS; l++)
        for (size_t i = 0; i < sizeof refused / sizeof *refused && reader->layers[l] != NULL; i++)
            if (!is_neutral(reader->layers[l], &refused[i].member))
                return err_set(reader->err, ERR_UNSUPPORTED, "$.%s is not supported: %s",
                               refused[i].member.name, refused[i].why);
    return ERR_OK;
}

/* ---- numbers and tokens ---- */

static enum err_code read_integer(const struct reader *reader, const char *name, long long min,
                                  long long max, unsigned *out)
{
    long long number = *out;
    enum err_code code =
        doc_get_integer(teller(reader, name), "$", name, min, max, &number, reader->err);
    *out = (unsigned)number;
    return code;
}

static enum err_code read_token(const struct reader *reader, const char *name, uint32_t *out)
{
    return read_integer(reader, name, 0, (long long)reader->model->vocabulary - 1, out);
}

/* Reads a list of ids; `place` is its path for error texts. */
static enum err_code read_list(const struct reader *reader, const struct json_t *list,
                               const char *place, unsigned most, struct token_ids *out)
{
    const size_t count = doc_array_count(list);
    if (count > most)
        return err_set(reader->err, ERR_UNSUPPORTED, "%s: %zu tokens (limit %u)", place, count,
                       most);
    uint32_t *ids = arena_alloc_array(reader->arena, count, sizeof *ids);
    if (ids == NULL)
        return err_no_memory(reader->err, count * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        double id = -1;
        if (!doc_as_number(doc_array_item(list, i), &id) || id < 0 ||
            id >= reader->model->vocabulary || id != floor(id))
            return err_set(reader->err, ERR_UNSUPPORTED,
                           "%s[%zu]: expected a token id below the vocabulary's size, %u", place, i,
                           reader->model->vocabulary);
        ids[i] = (uint32_t)id;
    }
    *out = (struct token_ids){ids, (unsigned)count};
    return ERR_OK;
}

/* Reads an id or a list of ids, whichever is there. */
static enum err_code read_tokens(const struct reader *reader, const char *name, unsigned most,
                                 struct token_ids *out)
{
    const struct json_t *value = doc_member(teller(reader, name), name);
    char place[64];
    if (value == NULL)
        return ERR_OK;
    snprintf(place, sizeof place, "$.%s", name);
    if (strcmp(doc_type_name(value), "an array") == 0)
        return read_list(reader, value, place, most, out);
    uint32_t *id = arena_alloc_array(reader->arena, 1, sizeof *id);
    if (id == NULL)
        return err_no_memory(reader->err, sizeof *id);
    *out = (struct token_ids){id, 1};
    return read_token(reader, name, id);
}

static bool is_among(const struct token_ids *tokens, uint32_t token)
{
    for (unsigned i = 0; i < tokens->count; i++)
        if (tokens->at[i] == token)
            return true;
    return false;
}

/* A word of one end token is left out, as NoBadWordsLogitsProcessor does. */
static bool is_end(const struct generation_config *config, const struct token_ids *word)
{
    return word->count == 1 && is_among(&config->ends, word->at[0]);
}

static enum err_code read_bad_words(const struct reader *reader, struct generation_config *out)
{
    static const char name[] = "bad_words_ids";
    const struct json_t *list = doc_member(teller(reader, name), name);
    const size_t count = doc_array_count(list);
    size_t tokens = 0;
    if (list != NULL && strcmp(doc_type_name(list), "an array") != 0)
        return err_set(reader->err, ERR_UNSUPPORTED, "$.%s: expected an array, found %s", name,
                       doc_type_name(list));
    if (count > GENERATION_BANNED_MAX)
        return err_set(reader->err, ERR_UNSUPPORTED, "$.%s: %zu words (limit %d)", name, count,
                       GENERATION_BANNED_MAX);
    struct token_ids *words = arena_alloc_array(reader->arena, count, sizeof *words);
    if (words == NULL)
        return err_no_memory(reader->err, count * sizeof *words);
    out->bad_words = words;
    for (size_t i = 0; i < count; i++) {
        const struct json_t *item = doc_array_item(list, i);
        struct token_ids *word = &words[out->bad_word_count];
        char place[64];
        snprintf(place, sizeof place, "$.%s[%zu]", name, i);
        if (doc_array_count(item) == 0)
            return err_set(reader->err, ERR_UNSUPPORTED, "%s: expected a list of token ids", place);
        if (read_list(reader, item, place, (unsigned)(GENERATION_BANNED_MAX - tokens), word))
            return reader->err->code;
        tokens += word->count;
        out->bad_word_count += !is_end(out, word);
    }
    return ERR_OK;
}

/* ---- lengths and the search ---- */

/* max_new_tokens goes before max_length, which counts the start; so do the minima. The decoder's
 * positions bound both. transformers takes a max_length of 20, its default, for 20 new tokens;
 * older programs wrote it into every config.json. */
static enum err_code read_lengths(const struct reader *reader, struct generation_config *out)
{
    const unsigned none = UINT_MAX, positions = reader->model->positions;
    unsigned most = none, most_in_all = none, least = none, least_in_all = 0;
    read_integer(reader, "max_new_tokens", 1, INT_MAX, &most);
    read_integer(reader, "max_length", 2, INT_MAX, &most_in_all);
    read_integer(reader, "min_new_tokens", 0, INT_MAX, &least);
    if (read_integer(reader, "min_length", 0, INT_MAX, &least_in_all))
        return reader->err->code;
    if (most == none && most_in_all == DEFAULT_LENGTH)
        most = reader->is_own ? DEFAULT_LENGTH : GENERATION_NEW_DEFAULT;
    else if (most == none)
        most = most_in_all == none ? GENERATION_NEW_DEFAULT : most_in_all - 1;
    most = most < GENERATION_NEW_MAX ? most : GENERATION_NEW_MAX;
    out->new_max = positions > 0 && most > positions ? positions : most;
    out->new_min = least != none ? least : least_in_all > 0 ? least_in_all - 1 : 0;
    if (out->new_min > out->new_max)
        return err_set(reader->err, ERR_UNSUPPORTED,
                       "$.%s: at least %u new tokens, and at most %u may be written",
                       least != none ? "min_new_tokens" : "min_length", out->new_min, out->new_max);
    return ERR_OK;
}

static enum err_code read_early_stopping(const struct reader *reader, struct generation_config *out)
{
    static const char name[] = "early_stopping";
    const struct json_t *object = teller(reader, name);
    const char *word = doc_as_string(doc_member(object, name));
    bool is_early = false;
    if (word != NULL && strcmp(word, "never") == 0) {
        out->early_stopping = STOPPING_NEVER;
        return ERR_OK;
    }
    if (word != NULL)
        return err_set(reader->err, ERR_UNSUPPORTED, "$.%s: expected true, false or \"never\"",
                       name);
    if (doc_get_bool(object, "$", name, &is_early, reader->err))
        return reader->err->code;
    out->early_stopping = is_early ? STOPPING_EARLY : STOPPING_ESTIMATED;
    return ERR_OK;
}

static bool is_penalty(double penalty)
{
    return penalty >= -2 && penalty <= GENERATION_PENALTY_MAX;
}

static enum err_code read_search(const struct reader *reader, struct generation_config *out)
{
    read_integer(reader, "num_beams", 1, GENERATION_BEAMS_MAX, &out->beams);
    read_integer(reader, "no_repeat_ngram_size", 0, GENERATION_NGRAM_MAX, &out->no_repeat);
    doc_get_number(teller(reader, "length_penalty"), "$", "length_penalty", &out->length_penalty,
                   reader->err);
    doc_get_bool(teller(reader, "renormalize_logits"), "$", "renormalize_logits",
                 &out->renormalizes, reader->err);
    if (read_integer(reader, "num_return_sequences", 1, out->beams, &out->sequences) ||
        read_early_stopping(reader, out))
        return reader->err->code;
    if (!is_penalty(out->length_penalty))
        return err_set(reader->err, ERR_UNSUPPORTED, "$.length_penalty: expected -2 to %d",
                       GENERATION_PENALTY_MAX);
    return ERR_OK;
}

/* ---- special tokens ---- */

static uint32_t token_of_family(const struct reader *reader, int token)
{
    return token >= 0 && (unsigned)token < reader->model->vocabulary ? (uint32_t)token
                                                                     : generation_no_token;
}

static enum err_code list_of_family(const struct reader *reader, int token, struct token_ids *out)
{
    const uint32_t own = token_of_family(reader, token);
    if (own == generation_no_token)
        return ERR_OK;
    uint32_t *id = arena_alloc_array(reader->arena, 1, sizeof *id);
    if (id == NULL)
        return err_no_memory(reader->err, sizeof *id);
    *id = own;
    *out = (struct token_ids){id, 1};
    return ERR_OK;
}

static enum err_code read_special(const struct reader *reader, struct generation_config *out)
{
    const struct family_tokens *family = reader->tokens;
    uint32_t bos = generation_no_token;
    if (family != NULL) {
        bos = token_of_family(reader, family->bos);
        out->start = token_of_family(reader, family->start);
        if (list_of_family(reader, family->eos, &out->ends) ||
            list_of_family(reader, family->last, &out->last))
            return reader->err->code;
    }
    read_token(reader, "bos_token_id", &bos);
    read_token(reader, "decoder_start_token_id", &out->start);
    read_token(reader, "forced_bos_token_id", &out->first);
    if (read_tokens(reader, "eos_token_id", GENERATION_ENDS_MAX, &out->ends) ||
        read_tokens(reader, "forced_eos_token_id", GENERATION_ENDS_MAX, &out->last) ||
        read_tokens(reader, "suppress_tokens", GENERATION_BANNED_MAX, &out->suppressed) ||
        read_tokens(reader, "begin_suppress_tokens", GENERATION_BANNED_MAX, &out->suppressed_first))
        return reader->err->code;
    if (out->start == generation_no_token)
        out->start = bos;
    if (out->start == generation_no_token)
        return err_set(reader->err, ERR_UNSUPPORTED,
                       "neither $.decoder_start_token_id nor $.bos_token_id says what a decoder "
                       "starts with");
    return ERR_OK;
}

/* ---- whether a text can be written at all ---- */

/* Sets *bans: the first token that is not forced, at `begin`, may be none of the vocabulary. Later
 * ones may be all that it may be, and more. */
static enum err_code find_ban(const struct generation_config *config, unsigned begin,
                              unsigned vocabulary, bool *bans, struct err *err)
{
    const struct token_ids none = {NULL, 0};
    const struct token_ids *lists[] = {&config->suppressed, &config->suppressed_first,
                                       begin <= config->new_min ? &config->ends : &none};
    size_t listed = config->bad_word_count, banned = 0;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        listed += lists[l]->count;
    *bans = false;
    if (listed < vocabulary)
        return ERR_OK;
    bool *is_banned = calloc(vocabulary, sizeof *is_banned);
    if (is_banned == NULL)
        return err_no_memory(err, vocabulary);
    for (unsigned w = 0; w < config->bad_word_count; w++)
        is_banned[config->bad_words[w].at[0]] |= config->bad_words[w].count == 1;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (unsigned i = 0; i < lists[l]->count; i++)
            is_banned[lists[l]->at[i]] = true;
    for (unsigned t = 0; t < vocabulary; t++)
        banned += is_banned[t];
    *bans = banned == vocabulary;
    free(is_banned);
    return ERR_OK;
}

/* True if a text may end before its greatest length, where the last token is forced: of a text of
 * one token in place of the first. */
static bool may_end(const struct generation_config *config, unsigned begin)
{
    const unsigned from = begin > config->new_min ? begin : config->new_min + 1;
    bool may = config->first != generation_no_token && config->new_max > 1 &&
               is_among(&config->ends, config->first);
    for (unsigned i = 0; i < config->ends.count; i++)
        may =
            may || (from < config->new_max && !is_among(&config->suppressed, config->ends.at[i]) &&
                    (from > begin || from + 1 < config->new_max ||
                     !is_among(&config->suppressed_first, config->ends.at[i])));
    return may;
}

/* Refuses what would leave each text without a token somewhere, in the order of generation_rules.c.
 * `code` is the error, `at` stands before a member's name. */
static enum err_code check_bans(const struct generation_config *config, unsigned vocabulary,
                                enum err_code code, const char *at, struct err *err)
{
    const bool has_first = config->first != generation_no_token, has_last = config->last.count > 0;
    const unsigned begin = has_first ? 2 : 1;
    const bool last_is_free = !has_last || config->new_max != begin;
    bool bans = false;
    if (has_first && !(has_last && config->new_max == 1) &&
        is_among(&config->suppressed, config->first))
        return err_set(err, code,
                       "%sforced_bos_token_id: token %u is one of %ssuppress_tokens: no text can "
                       "begin with it",
                       at, config->first, at);
    if (config->new_max >= begin && last_is_free &&
        !(has_first && is_among(&config->ends, config->first)) &&
        find_ban(config, begin, vocabulary, &bans, err))
        return err->code;
    if (bans)
        return err_set(err, code,
                       "%ssuppress_tokens, %sbegin_suppress_tokens and %sbad_words_ids ban each of "
                       "the %u tokens%s: no text can be written",
                       at, at, at, vocabulary,
                       begin <= config->new_min ? ", with the ends, which the least length bans"
                                                : "");
    bans = has_last && !may_end(config, begin);
    for (unsigned i = 0; i < config->last.count; i++)
        bans = bans && (is_among(&config->suppressed, config->last.at[i]) ||
                        (!last_is_free && is_among(&config->suppressed_first, config->last.at[i])));
    if (bans)
        return err_set(err, code,
                       "%sforced_eos_token_id: suppress_tokens or begin_suppress_tokens ban it "
                       "where it is forced, as new token %u, and no text can end before",
                       at, config->new_max);
    return ERR_OK;
}

static enum err_code read_all(const struct reader *reader, struct generation_config *out)
{
    *out = (struct generation_config){.start = generation_no_token,
                                      .first = generation_no_token,
                                      .beams = 1,
                                      .sequences = 1,
                                      .length_penalty = 1};
    if (refuse(reader) || read_special(reader, out) || read_bad_words(reader, out) ||
        read_lengths(reader, out) || read_search(reader, out))
        return reader->err->code;
    if (reader->model->vocabulary < 2 || reader->model->vocabulary <= out->ends.count)
        return err_set(reader->err, ERR_UNSUPPORTED,
                       "$.eos_token_id: %u end tokens of a vocabulary of %u", out->ends.count,
                       reader->model->vocabulary);
    return check_bans(out, reader->model->vocabulary, ERR_UNSUPPORTED, "$.", reader->err);
}

enum err_code generation_config_parse(struct generation_config *out, const struct json_t *object,
                                      const struct generation_model *model, struct arena *arena,
                                      struct err *err)
{
    const struct reader reader = {
        .layers = {object}, .is_own = true, .model = model, .arena = arena, .err = err};
    return read_all(&reader, out);
}

/* ---- files ---- */

/* Parses DIR/NAME, an object; NULL if the file is absent. */
static enum err_code parse_file(struct json_t **out, const char *dir, const char *name,
                                struct err *err)
{
    char path[PATH_MAX];
    bool is_there = false;
    *out = NULL;
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return err_set(err, ERR_IO, "%s: the path is too long", name);
    if (file_exists(path, &is_there, err) || !is_there)
        return err->code;
    return doc_read_object(out, path, FILE_BYTES_MAX, err) ? err_prefix(err, "%s: ", name) : ERR_OK;
}

static const struct family_tokens *find_family(const struct json_t *config)
{
    const char *type = doc_as_string(doc_member(config, "model_type"));
    for (size_t i = 0; i < sizeof families / sizeof *families && type != NULL; i++)
        if (strcmp(families[i].model_type, type) == 0)
            return &families[i];
    return NULL;
}

/* Members of config.json that count as changes of it (PretrainedConfig's
 * _get_global_generation_defaults), each with its default. */
static const struct member counted[] = {
    {"max_length", DEFAULT_LENGTH},
    {"min_length", 0},
    {"do_sample", 0},
    {"early_stopping", 0},
    {"num_beams", 1},
    {"temperature", 1},
    {"top_k", 50},
    {"top_p", 1},
    {"typical_p", 1},
    {"repetition_penalty", 1},
    {"length_penalty", 1},
    {"no_repeat_ngram_size", 0},
    {"encoder_no_repeat_ngram_size", 0},
    {"bad_words_ids", NAN},
    {"num_return_sequences", 1},
    {"output_scores", 0},
    {"return_dict_in_generate", 0},
    {"forced_bos_token_id", NAN},
    {"forced_eos_token_id", NAN},
    {"remove_invalid_values", 0},
    {"exponential_decay_length_penalty", NAN},
    {"suppress_tokens", NAN},
    {"begin_suppress_tokens", NAN},
    {"num_beam_groups", 1},
    {"diversity_penalty", 0},
};

/* True if config.json goes before a generation_config.json that was made of it: one of its own
 * members is not the default of its class (GenerationMixin._prepare_generation_config). */
static bool overrides(const struct json_t *config, const struct json_t *file)
{
    static const struct member made = {"_from_model_config", 0};
    const struct json_t *decoder = doc_member(config, "decoder");
    const struct family_tokens *family = find_family(decoder != NULL ? decoder : config);
    const struct member last = {"forced_eos_token_id", family != NULL ? family->last : -1};
    if (is_neutral(file, &made))
        return false;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        const bool is_of_class =
            strcmp(counted[i].name, last.name) == 0 && is_neutral(config, &last);
        if (!is_of_class && !is_neutral(config, &counted[i]))
            return true;
    }
    return false;
}

enum err_code generation_config_read(struct generation_config *out, const char *dir,
                                     const struct generation_model *model, struct arena *arena,
                                     struct err *err)
{
    static const char own_name[] = "generation_config.json", other_name[] = "config.json";
    struct json_t *own = NULL, *other = NULL;
    struct reader reader = {.model = model, .arena = arena, .err = err};
    if (parse_file(&own, dir, own_name, err) || parse_file(&other, dir, other_name, err))
        goto out;
    reader.is_own = own != NULL && !overrides(other, own);
    reader.layers[0] = reader.is_own ? own : other;
    if (!reader.is_own) {
        const struct json_t *decoder = doc_member(other, "decoder");
        reader.layers[1] = decoder;
        reader.tokens = find_family(decoder != NULL ? decoder : other);
    }
    if (read_all(&reader, out))
        err_prefix(err, "%s: ", reader.is_own ? own_name : other_name);
out:
    doc_free(own);
    doc_free(other);
    return err->code;
}

/* ---- a request ---- */

static enum err_code ask_integer(const char *name, long long asked, long long min, long long max,
                                 unsigned *out, struct err *err)
{
    if (asked == LLONG_MIN)
        return ERR_OK;
    if (asked < min || asked > max)
        return err_set(err, ERR_UNUSABLE, "%s: %lld is not in %lld to %lld", name, asked, min, max);
    *out = (unsigned)asked;
    return ERR_OK;
}

enum err_code generation_config_ask(struct generation_config *config,
                                    const struct generation_request *request,
                                    const struct generation_model *model, struct err *err)
{
    const unsigned most = generation_new_max(model), beams_max = GENERATION_BEAMS_MAX;
    if (ask_integer("max_new_tokens", request->max_new_tokens, 1, most, &config->new_max, err) ||
        ask_integer("min_new_tokens", request->min_new_tokens, 0, config->new_max, &config->new_min,
                    err) ||
        ask_integer("num_beams", request->num_beams, 1, beams_max, &config->beams, err) ||
        ask_integer("no_repeat_ngram_size", request->no_repeat_ngram_size, 0, GENERATION_NGRAM_MAX,
                    &config->no_repeat, err))
        return err->code;
    config->sequences = config->sequences < config->beams ? config->sequences : config->beams;
    if (request->num_return_sequences > (long long)config->beams)
        return err_set(err, ERR_UNUSABLE,
                       "num_return_sequences: %lld is more than num_beams, which is %u",
                       request->num_return_sequences, config->beams);
    if (ask_integer("num_return_sequences", request->num_return_sequences, 1, config->beams,
                    &config->sequences, err))
        return err->code;
    if (!isnan(request->length_penalty)) {
        if (!is_penalty(request->length_penalty))
            return err_set(err, ERR_UNUSABLE, "length_penalty: %g is not in -2 to %d",
                           request->length_penalty, GENERATION_PENALTY_MAX);
        config->length_penalty = request->length_penalty;
    }
    if (request->first != generation_no_token && request->first >= model->vocabulary)
        return err_set(err, ERR_UNUSABLE,
                       "target_language: its token, %u, is not among the vocabulary's %u",
                       request->first, model->vocabulary);
    if (request->first != generation_no_token && is_among(&config->suppressed, request->first))
        return err_set(err, ERR_UNUSABLE,
                       "target_language: its token, %u, is one of the checkpoint's suppress_tokens",
                       request->first);
    if (request->first != generation_no_token)
        config->first = request->first;
    return check_bans(config, model->vocabulary, ERR_UNUSABLE, "", err);
}
