/* attnd-vocab - a WordPiece vocabulary for a fab's own logs: built from them, or an encoder's own
 * cut down to what they use. The parts are engine/text's and learn/train's; this file has the two
 * commands' options, the reading of data and progress.
 *
 * Data files are read one after another, so the largest bounds the memory. A text that is not UTF-8
 * is named and left out; only if none is left the run fails. Wrong use ends with 2, a failure
 * afterwards with 1. */
#include "engine/cli/cli_main.h"
#include "engine/cli/cli_rows.h"
#include "engine/cli/screen.h"
#include "engine/text/vocab_build.h"
#include "engine/text/vocab_use.h"
#include "engine/text/word_counts.h"
#include "learn/data/dataset.h"
#include "learn/train/checkpoint/export_files.h"
#include "learn/train/checkpoint/vocab_files.h"
#include "learn/train/checkpoint/vocab_trim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DATA_MAX = 4096, SIZE_MIN = 200, SIZE_LIMIT = 1 << 20, COUNT_LIMIT = 1000 * 1000 * 1000 };
enum { NAMED_MAX = 5 };

struct vocab {
    const char *data[DATA_MAX];
    size_t data_count;
    const char *output, *dir; /* dir: the model to trim */
    struct dataset_options fields;
    unsigned size, pair_min, character_min, keep_min;
    bool cased, without_numbers;

    struct screen screen;
    size_t used, unusable; /* texts */
};

/* ---- options ---- */

static enum err_code add_data(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    struct vocab *vocab = target;
    (void)option;
    if (vocab->data_count == DATA_MAX)
        return err_set(err, ERR_UNUSABLE, "more than %d files", DATA_MAX);
    vocab->data[vocab->data_count++] = value;
    return ERR_OK;
}

#define ROW(member, ...) CLI_ROW(struct vocab, member, __VA_ARGS__)
#define FLAG(member, name, help) CLI_ROW_FLAG(struct vocab, member, name, help)
#define DATA_HELP "Texts: .txt or .log, or .jsonl or .csv (required; more may follow)."
#define DATA                                                                                       \
    .name = "data", .type = CLI_OTHER, .value = "FILE", .apply = add_data, .help = DATA_HELP

static const struct cli_option build_options[] = {
    {DATA},
    ROW(size, "size", "N", .min = SIZE_MIN, .max = SIZE_LIMIT, .is_required = true,
        .help = "Pieces to have: 200 to 1048576; 8000 suits logs."),
    ROW(output, "out", "DIR", .is_required = true,
        .help = "Where the tokenizer's files are written."),
    FLAG(cased, "cased", "Keeps capitals and accents apart (default: they are folded)."),
    ROW(pair_min, "pair-min", "N", .min = 1, .max = COUNT_LIMIT, .fallback = "2",
        .help = "Merges only pieces that stand side by side so often."),
    ROW(character_min, "character-min", "N", .min = 1, .max = COUNT_LIMIT, .fallback = "10",
        .help = "Keeps a character outside ASCII only if it occurs so often."),
    CLI_ROW_TEXT_FIELD(struct vocab, fields.text_field),
};

static const struct cli_option trim_options[] = {
    ROW(dir, "model", "DIR", .apply = shipped_option, .is_required = true,
        .help = "The checkpoint directory, or the name of a shipped model, with a vocab.txt."),
    {DATA},
    ROW(output, "out", "DIR", .is_required = true,
        .help = "Where the smaller checkpoint is written."),
    ROW(keep_min, "keep-min", "N", .min = 1, .max = COUNT_LIMIT, .fallback = "1",
        .help = "Keeps pieces that the texts use so often; 1 changes no answer."),
    FLAG(without_numbers, "without-numbers",
         "Drops pieces with digits: a word that has one becomes [UNK]."),
    CLI_ROW_TEXT_FIELD(struct vocab, fields.text_field),
};

static const struct cli build_cli = {
    .program = "attnd-vocab",
    .usage = "attnd-vocab build --data FILE... --size N --out DIR [OPTION]...",
    .summary =
        "Trains a WordPiece vocabulary on texts, and writes vocab.txt,\n"
        "tokenizer_config.json and special_tokens_map.json. Labels are not needed; each line\n"
        "of a .txt or .log is a text.",
    .examples = "  attnd-vocab build --data logs.csv --size 8000 --out models/words",
    .options = build_options,
    .option_count = sizeof build_options / sizeof build_options[0],
    .positional = add_data,
};

static const struct cli trim_cli = {
    .program = "attnd-vocab",
    .usage = "attnd-vocab trim --model DIR --data FILE... --out DIR [OPTION]...",
    .summary =
        "Writes a checkpoint directory without the words that the texts never use. What the\n"
        "texts do use, special tokens and ASCII characters stay; answers to the texts do not\n"
        "change.",
    .examples = "  attnd-vocab trim --model models/bert --data logs.csv --out models/small",
    .options = trim_options,
    .option_count = sizeof trim_options / sizeof trim_options[0],
    .positional = add_data,
};

/* ---- progress ---- */

static void show_pieces(void *context, size_t pieces)
{
    struct vocab *vocab = context;
    if (screen_begin(&vocab->screen))
        fprintf(stderr, "%zu of %u pieces", pieces, vocab->size);
}

/* ---- data ---- */

/* Takes one text. */
typedef enum err_code (*taker)(void *target, const char *text, size_t len, struct err *err);

static void name_unusable(struct vocab *vocab, const char *path, const char *name,
                          const struct err *cause)
{
    vocab->unusable++;
    if (vocab->unusable > NAMED_MAX)
        return;
    screen_clear(&vocab->screen);
    fprintf(stderr, "attnd-vocab: %s: %s: %s; it is left out%s\n", path, name, cause->text,
            vocab->unusable == NAMED_MAX ? ", as more may be" : "");
}

static enum err_code take_items(struct vocab *vocab, const struct dataset *dataset,
                                const char *path, taker take, void *target, struct err *err)
{
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_item *item = &dataset->items[i];
        struct err cause = {0};
        if (take(target, item->input, item->input_len, &cause) == ERR_OK &&
            (item->pair == NULL || take(target, item->pair, item->pair_len, &cause) == ERR_OK))
            vocab->used++;
        else if (cause.code == ERR_UNUSABLE)
            name_unusable(vocab, path, item->name, &cause);
        else
            return err_set(err, cause.code, "%s: %s: %s", path, item->name, cause.text);
        if (screen_begin(&vocab->screen))
            fprintf(stderr, "%.60s: %zu of %zu texts", path, i + 1, dataset->count);
    }
    return ERR_OK;
}

static enum err_code read_data(struct vocab *vocab, taker take, void *target, struct err *err)
{
    vocab->fields.kind = ENGINE_TEXT;
    vocab->fields.labels_optional = vocab->fields.line_documents = true;
    for (size_t i = 0; i < vocab->data_count && err->code == ERR_OK; i++) {
        struct dataset dataset;
        if (!dataset_open(&dataset, vocab->data[i], &vocab->fields, err))
            take_items(vocab, &dataset, vocab->data[i], take, target, err);
        dataset_close(&dataset);
    }
    screen_clear(&vocab->screen);
    if (err->code == ERR_OK && vocab->used == 0)
        return err_set(err, ERR_UNUSABLE, "none of the %zu texts can be used", vocab->unusable);
    return err->code;
}

/* ---- build ---- */

static enum err_code take_words(void *target, const char *text, size_t len, struct err *err)
{
    return word_counts_add(target, text, len, err);
}

static enum err_code build(struct cli_run *run, struct err *err)
{
    struct vocab *vocab = run->target;
    struct vocab_build_options options = {.size = vocab->size,
                                          .pair_min = vocab->pair_min,
                                          .character_min = vocab->character_min,
                                          .progress = show_pieces,
                                          .context = vocab};
    struct vocab_list list = {0};
    struct word_counts words;
    word_counts_init(&words, (struct normalizer_flags){.clean_text = true,
                                                       .space_cjk = true,
                                                       .strip_accents = !vocab->cased,
                                                       .lower_case = !vocab->cased});
    if (read_data(vocab, take_words, &words, err))
        goto out;
    vocab_build(&list, &words, &options, err);
    screen_clear(&vocab->screen);
    if (err->code == ERR_OK &&
        !vocab_files_write(vocab->output, list.pieces, list.count, vocab->cased, err))
        printf("%s: %zu pieces, from %zu texts with %zu different words\n", vocab->output,
               list.count, vocab->used, words.count);
    if (err->code == ERR_OK && list.count < vocab->size)
        printf("fewer than the %u asked for: nothing else is in the texts %u times\n", vocab->size,
               vocab->pair_min);
out:
    vocab_build_close(&list);
    word_counts_deinit(&words);
    return err->code;
}

/* ---- trim ---- */

static enum err_code take_pieces(void *target, const char *text, size_t len, struct err *err)
{
    return vocab_use_add(target, text, len, err);
}

static enum err_code trim(struct cli_run *run, struct err *err)
{
    struct vocab *vocab = run->target;
    struct vocab_use *use;
    struct vocab_trimmed trimmed;
    int32_t *ids = NULL;
    if (vocab_use_open(&use, vocab->dir, err))
        return err->code;
    if (read_data(vocab, take_pieces, use, err))
        goto out;
    size_t size = vocab_use_size(use);
    ids = calloc(size + 1, sizeof *ids);
    if (ids == NULL) {
        err_no_memory(err, size * sizeof *ids);
        goto out;
    }
    struct vocab_trim what = {.source_dir = vocab->dir, .use = use, .ids = ids};
    const struct vocab_choice choice = {.keep_min = vocab->keep_min,
                                        .without_numbers = vocab->without_numbers};
    what.count = vocab_use_choose(use, &choice, ids);
    if (!vocab_trim_write(vocab->output, &what, &trimmed, err))
        printf("%s: %zu of %zu pieces, %zu of %zu weights, from %zu texts\n", vocab->output,
               what.count, size, trimmed.numbers_after, trimmed.numbers_before, vocab->used);
out:
    free(ids);
    vocab_use_close(use);
    return err->code;
}

/* ---- main ---- */

/* Checks that would otherwise fail only after minutes of reading. */
static enum err_code check(void *target, struct err *err)
{
    struct vocab *vocab = target;
    screen_open(&vocab->screen, SCREEN_MS, 0);
    if (vocab->data_count == 0)
        return err_set(err, ERR_UNUSABLE, "--data FILE is missing; --help shows the usage");
    for (size_t i = 0; i < vocab->data_count; i++)
        if (access(vocab->data[i], R_OK) != 0)
            return err_set(err, ERR_UNUSABLE, "%s: cannot be read: %s", vocab->data[i],
                           strerror(errno));
    return export_files_make_dir(vocab->output, err);
}

static const struct cli_program commands[] = {
    {.command = "build", .cli = &build_cli, .prepare = check, .run = build},
    {.command = "trim", .cli = &trim_cli, .prepare = check, .run = trim},
};

int main(int argc, char **argv)
{
    static struct vocab vocab;
    return cli_main(commands, sizeof commands / sizeof *commands, argc, argv, &vocab);
}
