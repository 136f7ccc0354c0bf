/* run_output.c - see run_output.h. Two files tell what a directory holds: an unfinished run has
 * training-state.safetensors, a finished one training-run.safetensors (record.h). The record is
 * written before the state is removed: a kill between the two leaves the state of a run whose steps
 * are all done, which only concludes again. */
#include "learn/train/loop/run_output.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/base/utf8.h"
#include "learn/data/dataset.h"
#include "learn/train/checkpoint/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_BYTES = 300, VALUE_BYTES = 48 };

static const char inputs_key[] = "inputs", split_name[] = "split.jsonl";

/* ---- identity of a run ---- */

/* A hash of every input's name and label, behind the options if they are to be in it, else each
 * with the input's digest. */
static enum err_code hash_run(const struct run *run, bool has_options, char out[SHA256_HEX_BYTES],
                              struct err *err)
{
    struct memory_file text;
    if (memory_file_open(&text, err))
        return err->code;
    if (has_options)
        train_options_print(run->options, text.stream);
    for (unsigned i = 0; i < 2; i++)
        for (size_t k = 0; k < run->corpus.parts[i].dataset.count; k++) {
            const struct dataset_item *item = &run->corpus.parts[i].dataset.items[k];
            fprintf(text.stream, "%s\n", item->name);
            dataset_print_answer(item, text.stream);
            fputc('\n', text.stream);
            if (!has_options)
                fprintf(text.stream, "%016llx\n",
                        (unsigned long long)samples_digest(run->corpus.parts[i].samples, k));
        }
    if (!memory_file_close(&text, err))
        sha256_hex(text.bytes, text.len, out);
    free(text.bytes);
    return err->code;
}

/* Replaces invalid bytes with '?': metadata of safetensors are UTF-8, a path may not be. */
static enum err_code take_lines(struct run *run, struct err *err)
{
    char inputs[SHA256_HEX_BYTES];
    struct memory_file text;
    if (hash_run(run, false, inputs, err) || memory_file_open(&text, err))
        return err->code;
    train_options_print_all(run->options, text.stream);
    fprintf(text.stream, "%s=%s\n", inputs_key, inputs);
    if (memory_file_close(&text, err))
        return err->code;
    for (size_t at = 0, bytes; at < text.len; at += bytes) {
        bytes = utf8_character_bytes(text.bytes + at, text.len - at);
        if (bytes == 0) {
            text.bytes[at] = '?';
            bytes = 1;
        }
    }
    run->lines = arena_copy(&run->arena, text.bytes, text.len);
    free(text.bytes);
    return run->lines != NULL ? ERR_OK : err_no_memory(err, text.len);
}

/* ---- differences of two runs ---- */

/* A "key=value" line of a text. */
struct line {
    const char *key, *value;
    size_t key_len, value_len;
};

static bool next_line(const char **at, struct line *out)
{
    size_t len = strcspn(*at, "\n");
    const char *equals = memchr(*at, '=', len);
    if (equals == NULL)
        return false;
    *out = (struct line){.key = *at, .value = equals + 1, .key_len = (size_t)(equals - *at)};
    out->value_len = len - out->key_len - 1;
    *at += len + ((*at)[len] == '\n');
    return true;
}

static bool find_line(const char *text, const struct line *wanted, struct line *out)
{
    while (next_line(&text, out))
        if (out->key_len == wanted->key_len && memcmp(out->key, wanted->key, out->key_len) == 0)
            return true;
    return false;
}

/* Prints the value as one would type it. Of long values, which are paths, only the end. */
static int describe(const struct line *line, char out[VALUE_BYTES])
{
    size_t len = line->value_len, most = VALUE_BYTES - 4;
    if (len == 0)
        return snprintf(out, VALUE_BYTES, "unset");
    if (len <= most)
        return snprintf(out, VALUE_BYTES, "%.*s", (int)len, line->value);
    return snprintf(out, VALUE_BYTES, "...%.*s", (int)most, line->value + len - most);
}

static void append_difference(const struct line *here, const struct line *there, char *out,
                              size_t size)
{
    char ours[VALUE_BYTES], theirs[VALUE_BYTES];
    size_t used = strlen(out);
    const char *between = used > 0 ? ", " : "";
    const char *flag = train_options_flag(here->key, here->key_len);
    describe(here, ours);
    describe(there, theirs);
    if (flag == NULL)
        snprintf(out + used, size - used, "%sthe inputs", between);
    else
        snprintf(out + used, size - used, "%s--%s %s (there %s)", between, flag, ours, theirs);
}

bool run_output_difference(const char *here, const char *there, bool only_weights, char *out,
                           size_t size)
{
    struct line ours, theirs;
    out[0] = '\0';
    while (next_line(&here, &ours)) {
        if (only_weights && !train_options_decide_weights(ours.key, ours.key_len))
            continue;
        if (find_line(there, &ours, &theirs) &&
            (ours.value_len != theirs.value_len ||
             memcmp(ours.value, theirs.value, ours.value_len) != 0))
            append_difference(&ours, &theirs, out, size);
    }
    return out[0] != '\0';
}

/* ---- an earlier run ---- */

/* The fingerprint tells whether the state is this run's. The lines tell in what it differs; states
 * of older formats have none. */
static enum err_code look_for_state(struct run *run, struct err *err)
{
    struct err cause = {0};
    char *there = NULL, list[LIST_BYTES];
    state_read_counters(run->state_path, run->fingerprint, &run->resumed, &run->at, &cause);
    if (cause.code != ERR_OK && cause.code != ERR_UNUSABLE)
        return err_set(err, cause.code, "%s", cause.text);
    if (!run->resumed && cause.code == ERR_OK)
        return ERR_OK;
    if (state_read_lines(run->state_path, &there, err))
        return err->code;
    if (there != NULL && run_output_difference(run->lines, there, true, list, sizeof list))
        err_set(err, ERR_UNUSABLE,
                "%s: the training state is of a run with other options or data: %s; go on with "
                "those, or begin anew with --restart",
                run->state_path, list);
    else if (cause.code != ERR_OK)
        err_set(err, cause.code, "%s", cause.text);
    free(there);
    return err->code;
}

static enum err_code look_for_record(struct run *run, struct err *err)
{
    const char *dir = run->options->out;
    struct record record;
    char list[LIST_BYTES], weights[PATH_MAX];
    bool has_record, has_model;
    if (file_path(weights, dir, "model.safetensors", err) || file_exists(weights, &has_model, err))
        return err->code;
    if (!has_model)
        return ERR_OK;
    if (record_read(dir, &has_record, &record, err))
        err_prefix(err, "--restart replaces what is there: ");
    else if (!has_record)
        err_set(err, ERR_UNUSABLE,
                "%s holds a checkpoint of which nothing says that this command made it; choose "
                "another --out, or replace it with --restart",
                dir);
    else if (run_output_difference(run->lines, record.lines, false, list, sizeof list))
        err_set(err, ERR_UNUSABLE,
                "%s holds a finished run with other options or data: %s; choose another --out, or "
                "replace it with --restart",
                dir, list);
    else
        run->is_finished = true;
    record_close(&record);
    return err->code;
}

/* The lock is of the folder, so that no file of it is left there. A file system without locks has
 * none. */
static enum err_code lock_output(struct run *run, struct err *err)
{
    const char *dir = run->options->out;
    run->output_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->output_fd < 0)
        return err_set(err, ERR_IO, "%s: cannot be opened: %s", dir, strerror(errno));
    if (flock(run->output_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return err_set(err, ERR_CONFLICT, "%s: another run is writing it", dir);
    return ERR_OK;
}

enum err_code run_output_open(struct run *run, struct err *err)
{
    const char *dir = run->options->out;
    char split[PATH_MAX];
    if (hash_run(run, true, run->fingerprint, err) || take_lines(run, err))
        return err->code;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "cannot make %s: %s", dir, strerror(errno));
    if (lock_output(run, err))
        return err->code;
    run->state_path = arena_format(&run->arena, "%s/training-state.safetensors", dir);
    if (run->state_path == NULL)
        return err_no_memory(err, strlen(dir));
    if (run->options->restart &&
        (file_path(split, dir, split_name, err) || file_remove(run->state_path, err) ||
         file_remove(split, err) || record_remove(dir, err)))
        return err->code;
    if (look_for_state(run, err))
        return err->code;
    if (!run->resumed && !run->options->restart && look_for_record(run, err))
        return err->code;
    if (!run->is_finished) {
        /* A person wrote an attnd.json whose version or class codes this run does not write. A
         * file that cannot be read is ignored. */
        struct err ignored = {0};
        struct spec there;
        struct arena scratch;
        arena_init(&scratch);
        if (spec_read(&there, run->options->out, &scratch, &ignored) == ERR_OK &&
            (strcmp(there.version, run->options->version) != 0 || there.class_codes != NULL))
            run->replaced_version = arena_copy(&run->arena, there.version, strlen(there.version));
        arena_deinit(&scratch);
    }
    return ERR_OK;
}

/* ---- end of this run ---- */

enum err_code run_output_keep(const struct run *run, struct err *err)
{
    char path[PATH_MAX], before[PATH_MAX];
    if (run->replaced_version == NULL)
        return ERR_OK;
    if (file_path(path, run->options->out, "attnd.json", err) ||
        file_path(before, run->options->out, "attnd.json.before", err))
        return err->code;
    if (rename(path, before) != 0 && errno != ENOENT)
        return err_set(err, ERR_IO, "cannot rename %s: %s", path, strerror(errno));
    return ERR_OK;
}

/* Writes both texts of a pair, which are items of their own here, on one line. parts: of the items;
 * overwritten. */
static enum err_code write_pairs(const char *path, const struct dataset *dataset,
                                 enum split_part *parts, struct err *err)
{
    struct dataset pairs = *dataset;
    pairs.items = calloc(dataset->count + 1, sizeof *pairs.items);
    if (pairs.items == NULL)
        return err_no_memory(err, dataset->count * sizeof *pairs.items);
    pairs.count = dataset->count / 2;
    for (size_t i = 0; i < pairs.count; i++) {
        pairs.items[i] = dataset->items[2 * i];
        pairs.items[i].pair = dataset->items[2 * i + 1].input;
        pairs.items[i].pair_len = dataset->items[2 * i + 1].input_len;
        parts[i] = parts[2 * i];
    }
    split_write(path, &pairs, parts, err);
    free(pairs.items);
    return err->code;
}

/* Writes split.jsonl if validation inputs were held back. With --validation that list exists. */
static enum err_code write_split(const struct run *run, struct err *err)
{
    char path[PATH_MAX];
    const struct corpus *corpus = &run->corpus;
    const struct dataset *dataset = &corpus->parts[0].dataset;
    if (run->options->validation != NULL)
        return ERR_OK;
    enum split_part *parts = calloc(dataset->count, sizeof *parts);
    if (parts == NULL)
        return err_no_memory(err, dataset->count * sizeof *parts);
    for (size_t i = 0; i < corpus->train.count; i++)
        parts[corpus->train.item[i]] = SPLIT_TRAIN;
    for (size_t i = 0; i < corpus->validation.count; i++)
        parts[corpus->validation.item[i]] = SPLIT_VALIDATION;
    if (file_path(path, run->options->out, split_name, err))
        err_prefix(err, "%s: ", split_name);
    else if (corpus->groups.are_pairs)
        write_pairs(path, dataset, parts, err);
    else
        split_write(path, dataset, parts, err);
    free(parts);
    return err->code;
}

enum err_code run_output_finish(const struct run *run, struct err *err)
{
    const struct corpus_items *train = &run->corpus.train;
    uint64_t *digests = calloc(train->count + 1, sizeof *digests);
    if (digests == NULL)
        return err_no_memory(err, train->count * sizeof *digests);
    for (size_t i = 0; i < train->count; i++)
        digests[i] = samples_digest(train->part->samples, train->item[i]);
    if (!write_split(run, err))
        record_write(run->options->out, run->lines, digests, train->count, err);
    free(digests);
    return err->code != ERR_OK ? err->code : file_remove(run->state_path, err);
}
