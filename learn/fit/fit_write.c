#include "learn/fit/fit_write.h"

#include "engine/base/file.h"
#include "engine/format/checkpoint.h"
#include "learn/eval/assessment.h"
#include "learn/eval/fit/attnd_json.h"
#include "learn/fit/fit_decide.h"
#include "learn/fit/fit_trust.h"
#include "learn/train/checkpoint/export.h"
#include "learn/train/checkpoint/record.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct writing {
    struct fit *fit;
    char dir[PATH_MAX]; /* temporary directory beside options.out */
    struct spec spec;   /* the new model's */
};

/* ---- version ---- */

const char *fit_next_version(const char *version, struct arena *arena)
{
    size_t len = strlen(version), digits = 0;
    while (digits < len && digits < 9 && version[len - digits - 1] >= '0' &&
           version[len - digits - 1] <= '9')
        digits++;
    if (digits == 0)
        return arena_format(arena, "%s.1", version);
    return arena_format(arena, "%.*s%ld", (int)(len - digits), version,
                        strtol(version + len - digits, NULL, 10) + 1);
}

/* ---- the directory ---- */

static enum err_code make_beside(struct writing *writing, struct err *err)
{
    const char *out = writing->fit->options.out;
    size_t len = strlen(out);
    while (len > 1 && out[len - 1] == '/')
        len--;
    if (snprintf(writing->dir, sizeof writing->dir, "%.*s.XXXXXX", (int)len, out) >=
        (int)sizeof writing->dir)
        return err_set(err, ERR_TOO_LARGE, "the path of the output is too long");
    if (mkdtemp(writing->dir) == NULL) {
        writing->dir[0] = '\0';
        return err_set(err, ERR_IO, "%s: cannot be made: %s", out, strerror(errno));
    }
    mode_t mask = umask(0); /* mkdtemp's is private; a server may run as somebody else */
    umask(mask);
    chmod(writing->dir, 0777 & ~mask);
    return ERR_OK;
}

/* ---- the checkpoint ---- */

/* Makes the new model's spec: the old one with other labels and without decisions. */
static enum err_code make_spec(struct writing *writing, struct err *err)
{
    struct fit *fit = writing->fit;
    struct spec *spec = &writing->spec;
    const unsigned labels = fit->labels.count, known = fit->labels.old_count;
    *spec = fit->old;
    spec->version = fit->options.version != NULL ? fit->options.version
                                                 : fit_next_version(spec->version, &fit->arena);
    if (spec->version == NULL)
        return err_no_memory(err, sizeof *spec);
    if (spec->class_codes != NULL) { /* new labels have none yet */
        struct class_code *codes = arena_alloc_array(&fit->arena, labels, sizeof *codes);
        if (codes == NULL)
            return err_no_memory(err, labels * sizeof *codes);
        for (unsigned c = 0; c < labels; c++)
            codes[c] = c < known ? spec->class_codes[c] : (struct class_code){.is_none = true};
        spec->class_codes = codes;
    }
    spec->labels = fit->labels.name;
    spec->label_count = labels;
    spec->temperature = 1;
    spec->class_prior = (struct class_prior){0};
    spec->reference = NULL;
    spec->head_file = HEAD_FILE_NAME;
    spec->policy = policy_unfitted(&spec->policy);
    memset(spec->precisions.agreement, 0, sizeof spec->precisions.agreement); /* a pin stays */
    return ERR_OK;
}

/* Writes the weights, with fit->plain as the classifier. A distilled model answers by the mean of
 * two classifiers; the head was fitted on the features of the first, so that is doubled and the
 * other set to zero. */
static enum err_code export_weights(struct writing *writing, struct err *err)
{
    const struct fit *fit = writing->fit;
    const bool is_f16 = strcmp(engine_describe(fit->model)->stored_dtype, "F16") == 0;
    const size_t width = spec_features(&fit->old), labels = fit->labels.count;
    struct parameters parameters;
    struct parameters_loaded loaded;
    struct checkpoint *checkpoint = NULL;
    if (parameters_open(&parameters, &writing->spec, HEAD_CLASSIFIER, err))
        goto out;
    if (checkpoint_open(&checkpoint, fit->options.model, err)) {
        err_prefix(err, "%s: ", fit->options.model);
        goto out;
    }
    if (parameters_load(&parameters, checkpoint, &loaded, err))
        goto out;
    const struct parameters_map *map = &parameters.map;
    const bool is_distilled = map->distillation_weight != SIZE_MAX;
    const float times = is_distilled ? 2 : 1;
    for (size_t c = 0; c < labels; c++) {
        const float *row = fit->plain + c * (width + 1);
        for (size_t j = 0; j < width; j++)
            parameters.values[map->classifier_weight + c * width + j] = times * row[j];
        parameters.values[map->classifier_bias + c] = times * row[width];
    }
    if (is_distilled) {
        memset(parameters.values + map->distillation_weight, 0, labels * width * sizeof(float));
        memset(parameters.values + map->distillation_bias, 0, labels * sizeof(float));
    }
    const struct export what = {.parameters = &parameters,
                                .values = parameters.values,
                                .dtype = is_f16 ? DTYPE_F16 : DTYPE_F32,
                                .source_dir = fit->options.model};
    export_checkpoint(writing->dir, &what, err);
out:
    checkpoint_close(checkpoint);
    parameters_close(&parameters);
    return err->code;
}

/* Writes the examples, the table of n-grams, and the full head's matrix if that head answers. */
static enum err_code write_bank(const struct writing *writing, struct err *err)
{
    struct fit *fit = writing->fit;
    const size_t width = fit->rows.width, labels = fit->labels.count;
    struct head_bank bank;
    struct head_matrix matrix = {.width = fit->rows.width, .labels = fit->labels.count};
    if (fit_rows_bank(&fit->rows, &bank, &fit->arena, err))
        return err->code;
    if (fit->full != NULL) {
        matrix.weight = arena_alloc_array(&fit->arena, labels * width, sizeof *matrix.weight);
        matrix.bias = arena_alloc_array(&fit->arena, labels, sizeof *matrix.bias);
        if (matrix.weight == NULL || matrix.bias == NULL)
            return err_no_memory(err, labels * width * sizeof *matrix.weight);
        for (size_t c = 0; c < labels; c++) {
            const float *row = fit->full + c * (width + 1);
            memcpy(matrix.weight + c * width, row, width * sizeof *row);
            matrix.bias[c] = row[width];
        }
    }
    const struct head_content content = {&bank, &matrix, &fit->new_table,
                                         writing->spec.token_pruning.full_layers};
    return head_file_write(writing->dir, &content, err);
}

/* ---- decisions ---- */

static enum err_code decide(const struct writing *writing, struct err *err)
{
    struct fit *fit = writing->fit;
    if (fit_decide(fit, writing->dir, err) ||
        fit_trust_count(fit, fit->options.model, fit->rows.before, &fit->before, err) ||
        fit_trust_count(fit, writing->dir, fit->rows.after, &fit->after, err))
        return err->code;
    if (!fit_decides_anew(fit) && fit_trust_cool(fit, writing->dir, err))
        return err->code;
    fit->is_refused = fit_trust_accept(fit, err) != ERR_OK;
    return err->code;
}

/* ---- report ---- */

static struct report_figures figures_of(const struct fit_figures *figures, const char *dir)
{
    return (struct report_figures){.model_dir = dir,
                                   .confusion = &figures->confusion,
                                   .accuracy = figures->accuracy,
                                   .macro_f1 = figures->macro_f1,
                                   .f1 = figures->f1,
                                   .decisions = &figures->decisions};
}

static enum err_code write_report(struct writing *writing, FILE *shown, struct err *err)
{
    struct fit *fit = writing->fit;
    const struct report_change change = {.before = figures_of(&fit->before, fit->options.model),
                                         .after = figures_of(&fit->after, fit->options.out)};
    struct assessment assessment = {0};
    if (!fit_assess(fit, writing->dir, &assessment, err)) {
        assessment.report.model_dir = fit->options.out;
        assessment.report.change = &change;
        if (shown != NULL)
            report_print(&assessment.report, shown);
        assessment_write(&assessment, writing->dir, err);
    }
    fit_end_assessment(&assessment);
    return err->code;
}

/* ---- the record ---- */

static enum err_code write_record(const struct writing *writing, struct err *err)
{
    const struct fit *fit = writing->fit;
    struct err cause = {0};
    struct record old;
    bool found;
    record_read(fit->options.model, &found, &old, &cause); /* a damaged one counts as none */
    uint64_t *digests = calloc(old.count + fit->evaluation.count, sizeof *digests);
    if (digests == NULL) {
        err_no_memory(err, (old.count + fit->evaluation.count) * sizeof *digests);
    } else {
        if (old.count > 0)
            memcpy(digests, old.known, old.count * sizeof *digests);
        memcpy(digests + old.count, fit->evaluation.digests,
               fit->evaluation.count * sizeof *digests);
        record_write(writing->dir, "program=attnd-fit\n", digests,
                     old.count + fit->evaluation.count, err);
    }
    free(digests);
    record_close(&old);
    return err->code;
}

enum err_code fit_write(struct fit *fit, FILE *shown, struct err *err)
{
    const char *out = fit->options.out;
    struct writing writing = {.fit = fit};
    if (!make_beside(&writing, err) && !make_spec(&writing, err) &&
        !export_weights(&writing, err) && !write_bank(&writing, err) &&
        !attnd_json_write(writing.dir, &writing.spec, err) && !decide(&writing, err) &&
        !write_report(&writing, shown, err) && !write_record(&writing, err) &&
        rename(writing.dir, out) != 0)
        err_set(err, errno == ENOTEMPTY || errno == EEXIST ? ERR_UNUSABLE : ERR_IO,
                "%s: cannot be put there: %s", out, strerror(errno));
    /* After a failure the temporary directory is removed, which has only files. */
    DIR *dir = err->code != ERR_OK && writing.dir[0] != '\0' ? opendir(writing.dir) : NULL;
    if (dir == NULL)
        return err->code;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(writing.dir);
    return err->code;
}
