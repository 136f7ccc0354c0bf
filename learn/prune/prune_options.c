/* prune_options.c - see prune.h: the rows of attnd-prune are its own and those of attnd-train that
 * the fine-tuning has, some with other defaults. */
#include "learn/prune/prune.h"

#include "engine/cli/cli_rows.h"

#include <string.h>

enum { ROWS_MAX = 128 };

#define ROW(member, ...) CLI_ROW(struct prune_options, member, __VA_ARGS__)

static const struct cli_option own[] = {
    {.help = "What goes"},
    ROW(heads, "heads", "SHARE", .fallback = "0", .max = 0.99,
        .help = "Share of all attention heads that is cut out; each layer keeps one."),
    ROW(mlp, "mlp", "SHARE", .fallback = "0", .max = 0.99,
        .help = "Share of the columns of each layer's MLP that is cut out."),
    ROW(inputs, "importance-inputs", "N", .fallback = "1000", .min = 1, .max = 1000000000,
        .help = "Largest number of learnt inputs on which importance is measured."),
};

/* Options of attnd-train that pruning lacks: the model has weights, sizes and labels already. */
static const char *const without[] = {"task",   "from-scratch", "multi-label", "init",
                                      "stages", "entropy",      "sparsity",    "freeze-epochs"};

/* Rows of attnd-train with another default or help text here. */
static const struct {
    const char *name, *fallback, *help;
} changed[] = {
    {"model", NULL,
     "The checkpoint to prune, which stays as it is; or the name of one that is shipped."},
    {"data", NULL, "Labelled inputs of the model's labels: .jsonl, .csv or a folder of classes."},
    {"validation", NULL,
     "Inputs to judge by, best such as the model has not learnt; without it a share of --data."},
    {"out", NULL,
     "Where the smaller checkpoint, the report, the state to resume from and, in cut-DIGEST, the "
     "model before its fine-tuning go."},
    {"epochs", "3", "Passes of the fine-tuning over the data."},
    {"rate", "0.00005", NULL},
    {"teacher", NULL, "Distils from this checkpoint, which knows the labels (default: --model)."},
    {"ngrams", NULL,
     "At the end a table of word n-grams of the first N characters is fitted, too, and stands "
     "beside the encoder; 0: of what the model's own table reads, if it has one."},
    {"model-version", "", "The new model's version (default: one more than the old one's)."},
};

static bool is_left_out(const struct cli_option *row)
{
    const char *name = row->type == CLI_ALIAS ? row->value : row->name;
    for (size_t i = 0; name != NULL && i < sizeof without / sizeof without[0]; i++)
        if (strcmp(without[i], name) == 0)
            return true;
    return false;
}

void prune_options_default(struct prune_options *options)
{
    struct err err = {0};
    size_t count;
    const struct cli_option *rows = prune_cli_options(&count);
    *options = (struct prune_options){0};
    train_options_default(&options->train);
    options->train.version = NULL;
    cli_option_set_fallbacks(rows, count, options, &err);
}

const struct cli_option *prune_cli_options(size_t *count)
{
    static struct cli_option rows[ROWS_MAX];
    static const size_t owned = sizeof own / sizeof own[0];
    size_t at = owned;
    memcpy(rows, own, sizeof own);
    for (size_t i = 0; i < train_cli_option_count && at < ROWS_MAX; i++) {
        if (is_left_out(&train_cli_options[i]))
            continue;
        struct cli_option *row = &rows[at++];
        *row = train_cli_options[i];
        for (size_t k = 0; row->name != NULL && k < sizeof changed / sizeof changed[0]; k++) {
            if (strcmp(changed[k].name, row->name) != 0)
                continue;
            row->fallback = changed[k].fallback != NULL ? changed[k].fallback : row->fallback;
            row->help = changed[k].help != NULL ? changed[k].help : row->help;
        }
    }
    *count = at;
    return rows;
}

enum err_code prune_options_check(struct prune_options *options, struct err *err)
{
    if (!(options->heads >= 0 && options->heads < 1) || !(options->mlp >= 0 && options->mlp < 1))
        return err_set(err, ERR_UNUSABLE, "--heads and --mlp must be at least 0 and below 1");
    if (options->heads == 0 && options->mlp == 0)
        return err_set(err, ERR_UNUSABLE,
                       "nothing is to go: --heads SHARE, --mlp SHARE or both must be above 0");
    return train_options_check(&options->train, err);
}
