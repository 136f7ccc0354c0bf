/* explanations_report.c - see explanations_report.h: writes the form for a terminal, and the files.
 */
#include "learn/eval/report/explanations_report.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"

#include <math.h>
#include <stdlib.h>

/* ---- names in all forms ---- */

static bool is_text(const struct explanations *explanations)
{
    return explanations->source.dataset->kind == ENGINE_TEXT;
}

const char *explanations_parts_name(const struct explanations *explanations)
{
    return is_text(explanations) ? "words" : "patches";
}

const char *explanations_fill_text(const struct explanations *explanations)
{
    static const char *const texts[] = {
        [PERTURBATION_MEDIAN] = "removed patches become the image's median",
        [PERTURBATION_CLIP] = "of removed patches what is brighter becomes the image's median",
        [PERTURBATION_MEAN] = "removed patches become the model's mean colour"};
    if (is_text(explanations))
        return "removed words leave the sequence";
    return texts[explanations->options.fill];
}

/* ---- tables ---- */

static void put_figure(FILE *file, const struct explanations_figure *figure)
{
    if (isfinite(figure->interval.low))
        fprintf(file, "  %7.4f (%7.4f to %7.4f)", figure->mean, figure->interval.low,
                figure->interval.high);
    else
        fprintf(file, "  %7.4f (      -        )", figure->mean);
}

static enum err_code print_table(const struct explanations *explanations, unsigned over,
                                 enum score_scale scale, FILE *file, struct err *err)
{
    struct explanations_figures figures;
    fprintf(file, "%-14s  %-28s  %-28s  %-28s  %-28s  %s\n", "method", "deletion (95 % interval)",
            "insertion", "insertion - deletion", "more than random's", "ms after it");
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
        if (explanations_figures(explanations, method, over, scale, &figures, err))
            return err->code;
        fprintf(file, "%-14s", explanations_method_name(method));
        put_figure(file, &figures.deletion);
        put_figure(file, &figures.insertion);
        put_figure(file, &figures.difference);
        put_figure(file, &figures.gain);
        fprintf(file, "  %10.2f\n", explanations_mean_ms(explanations, explanations->ms[method]));
    }
    return ERR_OK;
}

static enum err_code print_tables(const struct explanations *explanations, FILE *file,
                                  struct err *err)
{
    static const char *const scales[] = {"probability of the winner", "log-odds of the winner"};
    static const char *const overs[] = {"all inputs", "inputs that the model got right"};
    for (unsigned scale = 0; scale < SCORE_SCALES; scale++)
        for (unsigned over = EXPLANATIONS_ALL; over <= EXPLANATIONS_RIGHT; over++) {
            fprintf(file, "\n%s, %s\n", scales[scale], overs[over]);
            if (print_table(explanations, over, scale, file, err))
                return err->code;
        }
    return ERR_OK;
}

static enum err_code print_classes(const struct explanations *explanations, FILE *file,
                                   struct err *err)
{
    const struct engine_info *info = engine_describe(explanations->source.model);
    struct explanations_figures figures;
    fprintf(file, "\ninsertion - deletion by class\n%-22s  inputs", "class");
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
        fprintf(file, "  %13s", explanations_method_name(method));
    fputc('\n', file);
    for (unsigned label = 0; label < info->label_count; label++) {
        for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
            if (explanations_figures(explanations, method, EXPLANATIONS_CLASS + label,
                                     SCORE_PROBABILITY, &figures, err))
                return err->code;
            if (figures.count == 0)
                break;
            if (method == 0)
                fprintf(file, "%-22.22s  %6zu", info->labels[label], figures.count);
            fprintf(file, "  %13.4f", figures.difference.mean);
        }
        if (figures.count > 0)
            fputc('\n', file);
    }
    return ERR_OK;
}

static enum err_code print_places(const struct explanations *explanations, FILE *file,
                                  struct err *err)
{
    struct explanations_figures figures;
    double marked;
    size_t masked = explanations_masked(explanations, &marked);
    if (masked == 0)
        return ERR_OK;
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
        if (explanations_figures(explanations, method, EXPLANATIONS_MASKED, SCORE_PROBABILITY,
                                 &figures, err))
            return err->code;
        if (method == 0)
            fprintf(file,
                    "\nplaces: %zu inputs have a mask, of which %zu got the right answer; their "
                    "masks have %.1f %% of the patches\n%-14s  %-28s  %s\n",
                    masked, figures.count, 100 * marked, "method", "points to it (95 % interval)",
                    "IoU of as many patches");
        fprintf(file, "%-14s", explanations_method_name(method));
        put_figure(file, &figures.points);
        put_figure(file, &figures.iou);
        fputc('\n', file);
    }
    return ERR_OK;
}

enum err_code explanations_print(const struct explanations_report *report, FILE *file,
                                 struct err *err)
{
    const struct explanations *explanations = report->explanations;
    fprintf(
        file, "\nexplanations    %zu inputs, %zu of them right; %s; inference %.2f ms an input\n",
        explanations->count, explanations_right(explanations), explanations_fill_text(explanations),
        explanations_mean_ms(explanations, explanations->inference_ms));
    if (print_tables(explanations, file, err) || print_classes(explanations, file, err) ||
        print_places(explanations, file, err))
        return err->code;
    return ferror(file) ? err_set(err, ERR_IO, "the explanations cannot be printed") : ERR_OK;
}

/* ---- files ---- */

typedef enum err_code (*printer)(const struct explanations_report *report, FILE *file,
                                 struct err *err);

static enum err_code write_file(const struct explanations_report *report, const char *folder,
                                const char *name, printer print, struct err *err)
{
    char path[PATH_MAX];
    struct memory_file file;
    if (file_path(path, folder, name, err) || memory_file_open(&file, err))
        return err->code;
    print(report, file.stream, err);
    return memory_file_save(&file, path, err);
}

enum err_code explanations_write(const struct explanations_report *report, const char *folder,
                                 struct err *err)
{
    if (write_file(report, folder, "explanations.json", explanations_print_json, err))
        return err->code;
    return write_file(report, folder, "explanations.html", explanations_print_html, err);
}
