/* explanations_json.c - see explanations_report.h: writes the JSON form. If a part is NULL the
 * whole is NULL, as in report_json.c. */
#include "engine/base/utf8.h"
#include "learn/eval/report/explanations_report.h"
#include "learn/eval/report/report_json_parts.h"

#include <jansson.h>

#include <math.h>
#include <string.h>

/* {"mean", "interval"}; too few inputs have no interval. */
static json_t *figure_of(const struct explanations_figure *figure)
{
    if (!isfinite(figure->interval.low))
        return json_pack("{s:f, s:n}", "mean", figure->mean, "interval");
    return json_pack("{s:f, s:[f,f]}", "mean", figure->mean, "interval", figure->interval.low,
                     figure->interval.high);
}

/* ---- parts ---- */

static json_t *areas_of(const struct explanations *explanations, unsigned method, unsigned over,
                        enum score_scale scale, struct err *err)
{
    struct explanations_figures figures;
    if (explanations_figures(explanations, method, over, scale, &figures, err))
        return NULL;
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "inputs", (json_int_t)figures.count, "deletion",
                     figure_of(&figures.deletion), "insertion", figure_of(&figures.insertion),
                     "difference", figure_of(&figures.difference), "more_than_random",
                     figure_of(&figures.gain));
}

static json_t *curve_of(const struct explanations *explanations, const struct score *sums)
{
    json_t *points = json_array();
    double n = explanations->count > 0 ? (double)explanations->count : 1;
    for (unsigned p = 0; p < FAITHFULNESS_POINTS && points != NULL; p++)
        points = report_json_append(points, json_real(sums[p].on[SCORE_PROBABILITY] / n));
    return points;
}

/* The difference by label; classes without an input are left out. */
static json_t *classes_of(const struct explanations *explanations, unsigned method, struct err *err)
{
    const struct engine_info *info = engine_describe(explanations->source.model);
    json_t *classes = json_object();
    for (unsigned label = 0; label < info->label_count && classes != NULL; label++) {
        json_t *areas =
            areas_of(explanations, method, EXPLANATIONS_CLASS + label, SCORE_PROBABILITY, err);
        if (areas != NULL && json_integer_value(json_object_get(areas, "inputs")) == 0)
            json_decref(areas);
        else
            classes = report_json_put(classes, info->labels[label], areas);
    }
    return classes;
}

static json_t *places_of(const struct explanations *explanations, unsigned method, struct err *err)
{
    struct explanations_figures figures;
    if (explanations_figures(explanations, method, EXPLANATIONS_MASKED, SCORE_PROBABILITY, &figures,
                             err))
        return NULL;
    return json_pack("{s:I, s:o, s:o}", "inputs", (json_int_t)figures.count, "points",
                     figure_of(&figures.points), "iou", figure_of(&figures.iou));
}

static json_t *method_of(const struct explanations *explanations, unsigned method, struct err *err)
{
    static const char *const keys[][SCORE_SCALES] = {{"probability", "log_odds"},
                                                     {"probability_right", "log_odds_right"}};
    double marked;
    json_t *object =
        json_pack("{s:s, s:f}", "method", explanations_method_name(method), "milliseconds",
                  explanations_mean_ms(explanations, explanations->ms[method]));
    for (unsigned over = EXPLANATIONS_ALL; over <= EXPLANATIONS_RIGHT; over++)
        for (unsigned scale = 0; scale < SCORE_SCALES; scale++)
            object = report_json_put(object, keys[over][scale],
                                     areas_of(explanations, method, over, scale, err));
    object = report_json_put(object, "classes", classes_of(explanations, method, err));
    object = report_json_put(object, "deletion_curve",
                             curve_of(explanations, explanations->curves[method].deletion));
    object = report_json_put(object, "insertion_curve",
                             curve_of(explanations, explanations->curves[method].insertion));
    if (explanations_masked(explanations, &marked) > 0)
        object = report_json_put(object, "places", places_of(explanations, method, err));
    return object;
}

/* ---- the object ---- */

static json_t *report_of(const struct explanations_report *report, struct err *err)
{
    const struct explanations *explanations = report->explanations;
    double marked;
    size_t masked = explanations_masked(explanations, &marked);
    json_t *methods = json_array();
    for (unsigned method = 0; method < EXPLANATIONS_METHODS && methods != NULL; method++)
        methods = report_json_append(methods, method_of(explanations, method, err));
    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:f, s:I, s:f, s:o}", "model",
                     UTF8_SHOWN(report->model_name), "data", UTF8_SHOWN(report->data_path),
                     "inputs", (json_int_t)explanations->count, "right",
                     (json_int_t)explanations_right(explanations), "parts",
                     explanations_parts_name(explanations), "removed",
                     explanations_fill_text(explanations), "inference_milliseconds",
                     explanations_mean_ms(explanations, explanations->inference_ms), "masked",
                     (json_int_t)masked, "marked_share", marked, "methods", methods);
}

enum err_code explanations_print_json(const struct explanations_report *report, FILE *file,
                                      struct err *err)
{
    return report_json_print(report_of(report, err), "the explanations", file, err);
}
