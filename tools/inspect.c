/* attnd-inspect - describes a checkpoint directory, and tells if attnd can serve it. */
#include "engine/base/doc_edit.h"
#include "engine/cli/cli_main.h"
#include "engine/cli/shipped.h"
#include "engine/decide/class_prior.h"
#include "engine/engine.h"
#include "engine/selftest.h"
#include "wire/answer.h"

#include <math.h>
#include <stdio.h>

struct inspect {
    const char *dir;
    bool json;
};

static enum err_code set_dir(const struct cli_option *option, void *target, const char *value,
                             struct err *err)
{
    struct inspect *inspect = target;
    (void)option;
    if (inspect->dir != NULL)
        return err_set(err, ERR_UNUSABLE, "one directory at a time; '%s' is the second", value);
    inspect->dir = value;
    return shipped_dir(&inspect->dir, err);
}

static const struct cli_option options[] = {
    {.name = "json", CLI_FIELD(struct inspect, json), .help = "Prints one JSON object."},
};

static const struct cli cli = {
    .program = "attnd-inspect",
    .usage = "attnd-inspect DIR [--json]",
    .summary = "Opens a Hugging Face checkpoint directory and says what it is: sizes, labels, and\n"
               "the tensors that no part of the model uses.",
    .examples = "  attnd-inspect wafer-vit",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .positional = set_dir,
};

static void print_decisions(const struct engine_info *info)
{
    if (!info->is_calibrated)
        printf("calibrated     no: %s; attnd-eval --calibrate chooses thresholds\n",
               info->reviews_all ? "every answer goes to review" : "every answer is automatic");
    if (info->target_precision > 0)
        printf("precision      %g of automatic answers\n", info->target_precision);
    if (info->ood_method == NULL)
        return;
    printf("ood_score      %s", info->ood_method);
    if (info->ood_threshold != NULL)
        printf(", unknown above %.9g", (double)*info->ood_threshold);
    putchar('\n');
    for (unsigned i = 0; info->ood_label_thresholds != NULL && i < info->label_count; i++)
        if (!isnan(info->ood_label_thresholds[i]))
            printf("               above %-9.9g  %s\n", (double)info->ood_label_thresholds[i],
                   info->labels[i]);
}

/* A prior that moves no score is not printed. */
static void print_prior(const struct engine_info *info)
{
    const struct class_prior *prior = info->class_prior;
    if (prior->shifts == NULL)
        return;
    printf("class prior    %s\n", class_prior_name(prior));
    for (unsigned i = 0; i < info->label_count; i++)
        printf("               %8.4f %%  %s\n", 100 * prior->expected[i], info->labels[i]);
}

/* Options of the checkpoint, which count where a request says nothing. */
static void print_rules(const struct generation_config *config)
{
    static const char *const stopping[] = {
        [STOPPING_ESTIMATED] = "ends when no text is likely to become better",
        [STOPPING_EARLY] = "ends when as many texts are whole as beams",
        [STOPPING_NEVER] = "ends when no text can become better"};
    static const char more[] = "               ";
    if (config->beams == 1)
        printf("writes         up to %u tokens, the most probable one each time\n",
               config->new_max);
    else
        printf("writes         up to %u tokens with %u beams; texts answered: %u\n%sscores "
               "are divided by length^%g; it %s\n",
               config->new_max, config->beams, config->sequences, more, config->length_penalty,
               stopping[config->early_stopping]);
    if (config->new_min > 0)
        printf("%sat least %u tokens\n", more, config->new_min);
    if (config->no_repeat > 0)
        printf("%sno sequence of %u tokens twice\n", more, config->no_repeat);
    if (config->first != generation_no_token)
        printf("%stoken %u is the first\n", more, config->first);
    if (config->last.count > 0)
        printf("%stoken %u is the last of a text of full length\n", more, config->last.at[0]);
    if (config->bad_word_count > 0)
        printf("%sbanned sequences of tokens: %u\n", more, config->bad_word_count);
    if (config->suppressed.count + config->suppressed_first.count > 0)
        printf("%ssuppressed tokens: %u, and %u in the first place\n", more,
               config->suppressed.count, config->suppressed_first.count);
}

static void print_writes(const struct engine_info *info)
{
    const struct engine_writes *writes = info->writes;
    const struct generation_config *config = writes->config;
    const double most = (double)info->tokens_max + (double)config->beams * config->new_max;
    print_rules(config);
    printf("limits         %u tokens in, %u out, %d beams\n", info->tokens_max,
           writes->new_tokens_max, GENERATION_BEAMS_MAX);
    printf(
        "cache          %zu bytes for a token of the input, and for one of a beam: up to %.1f MB "
        "for a text\n",
        writes->cache_token_bytes, (double)writes->cache_token_bytes * most / 1e6);
    /* Both sides of a model that reads languages by name have one vocabulary. */
    if (writes->target_language_count == 0)
        return;
    printf("languages      %swritten:", writes->source_language_count > 0 ? "read and " : "");
    for (unsigned i = 0; i < writes->target_language_count; i++)
        printf("%s%s", i % 12 == 0 ? "\n               " : " ", writes->target_languages[i]);
    putchar('\n');
}

static void print_labels(const struct engine_info *info)
{
    printf("scores         %s\nlabels         %u\n", info->scores, info->label_count);
    for (unsigned i = 0; i < info->label_count; i++)
        printf("  %-5u        %s\n", i, info->labels[i]);
}

static enum err_code print_json(const struct engine_info *info, const char *digest,
                                const struct selftest *selftest, struct err *err)
{
    struct json_t *object = answer_model(info);
    bool ok = object != NULL && answer_add_text(object, "digest", digest) &&
              answer_add_text(object, "stored_dtype", info->stored_dtype) &&
              answer_add_text(object, "preprocessing", info->preprocessing) &&
              doc_edit_integer(object, "selftest_cases",
                               selftest != NULL ? selftest_count(selftest) : 0, err) == ERR_OK &&
              answer_print(object, stdout);
    doc_free(object);
    return ok ? ERR_OK : err_set(err, ERR_IO, "the description cannot be printed");
}

static enum err_code print(const struct inspect *inspect, const struct engine_model *model,
                           struct err *err)
{
    const struct engine_info *info = engine_describe(model);
    char digest[72];
    struct selftest *selftest;
    if (selftest_open(&selftest, inspect->dir, err))
        return err_prefix(err, "%s: ", inspect->dir);
    if (engine_digest(model, NULL, digest, err) == ERR_OK && inspect->json)
        print_json(info, digest, selftest, err);
    else if (err->code == ERR_OK) {
        printf("family         %s\n", info->family);
        if (engine_reads(info, ENGINE_TEXT))
            printf("input          text, up to %u tokens of a vocabulary of %u\n", info->tokens_max,
                   info->vocab_size);
        if (info->ngram_rows > 0)
            printf("n-grams        a table of %u rows beside the encoder\n", info->ngram_rows);
        if (info->kind == ENGINE_IMAGE)
            printf("input          image, %u x %u pixels%s in patches of %s: %u tokens\n",
                   info->image_height, info->image_width,
                   info->image_height != info->image_width ? " (height x width)" : "",
                   extent_text(info->patch_size).text, info->tokens_max);
        printf("preprocessing  %s\n", info->preprocessing);
        printf("encoder        %u layers, hidden size %u, %u heads, intermediate size %u\n",
               info->layers, info->hidden_size, info->heads, info->intermediate_size);
        if (info->writes != NULL)
            printf("decoder        %u layers, hidden size %u, %u heads, intermediate size %u, a "
                   "vocabulary of %u\n",
                   info->writes->layers, info->writes->hidden_size, info->writes->heads,
                   info->writes->intermediate_size, info->writes->vocab_size);
        printf("parameters     %zu (%.1f MB as %s, stored as %s)\n", info->parameters,
               (double)info->weight_bytes / 1e6, info->dtype, info->stored_dtype);
        printf("version        %s\ndigest         %s\n", info->version, digest);
        if (info->writes == NULL)
            print_decisions(info);
        print_prior(info);
        if (selftest != NULL)
            printf("self-test      %u cases, scores within %g\n", selftest_count(selftest),
                   selftest_tolerance(selftest, info->dtype));
        if (info->writes != NULL)
            print_writes(info);
        else
            print_labels(info);
        if (info->task == ENGINE_EMBED)
            printf("vectors        %u numbers, similarity %s, %u prompts\n", info->vector_size,
                   info->similarity, info->prompt_count);
        if (info->is_zero_shot)
            printf("zero-shot      labels may come with a request; put into \"%s\"\n",
                   info->hypothesis);
        printf("unused tensors %u\n", info->unbound_count);
        for (unsigned i = 0; i < info->unbound_count; i++)
            printf("               %s\n", info->unbound[i]);
    }
    selftest_close(selftest);
    return err->code;
}

static enum err_code inspect_model(void *target, struct err *err)
{
    const struct inspect *inspect = target;
    struct engine_model *model;
    if (inspect->dir == NULL)
        return err_set(err, ERR_UNUSABLE, "DIR is missing; --help shows the usage");
    if (engine_open(&model, inspect->dir, &(struct engine_options){.writes_texts = true}, err))
        return err_prefix(err, "%s: ", inspect->dir);
    print(inspect, model, err);
    engine_close(model);
    return err->code;
}

int main(int argc, char **argv)
{
    static const struct cli_program program = {.cli = &cli, .prepare = inspect_model};
    struct inspect inspect = {0};
    return cli_main(&program, 1, argc, argv, &inspect);
}
