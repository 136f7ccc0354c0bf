#include "engine/model/attention_stats.h"

#include <math.h>
#include <stdbool.h>

static size_t gap(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* The distance of two patches in rows and columns. */
struct step {
    size_t down, across;
};

static struct step step_between(const struct attention_layout *layout, size_t i, size_t j)
{
    size_t a = i - layout->first, b = j - layout->first;
    return (struct step){gap(a / layout->columns, b / layout->columns),
                         gap(a % layout->columns, b % layout->columns)};
}

static float distance_between(const struct attention_layout *layout, size_t i, size_t j)
{
    if (layout->columns == 0)
        return (float)gap(i, j);
    struct step step = step_between(layout, i, j);
    return sqrtf((float)(step.down * step.down + step.across * step.across));
}

static bool is_neighbour(const struct attention_layout *layout, size_t i, size_t j)
{
    if (i == j)
        return false;
    if (layout->columns == 0)
        return gap(i, j) == 1;
    struct step step = step_between(layout, i, j);
    return step.down <= 1 && step.across <= 1;
}

/* Adds the statistics that depend on the tokens' positions. */
static void add_reach(struct attention_stats *sums, const struct attention_layout *layout,
                      const float *row, size_t i)
{
    float total = 0, far = 0, near = 0;
    for (size_t j = layout->first; j < layout->end; j++) {
        total += row[j];
        far += row[j] * distance_between(layout, i, j);
        near += is_neighbour(layout, i, j) ? row[j] : 0;
    }
    sums->distance += total > 0 ? far / total : 0;
    sums->neighbour += near;
    sums->diagonal += row[i];
}

void attention_stats_add(struct attention_stats *sums, const struct attention_layout *layout,
                         const float *probabilities, size_t query, size_t count)
{
    for (size_t i = query; i < query + count; i++, probabilities += layout->tokens) {
        if (i < layout->first || i >= layout->end)
            continue;
        /* The statistics that count all tokens. */
        float few = 1 / (2 * (float)layout->tokens), entropy = 0;
        size_t sparse = 0;
        for (size_t j = 0; j < layout->tokens; j++) {
            if (probabilities[j] > 0) /* 0 ln 0 is 0 */
                entropy -= probabilities[j] * logf(probabilities[j]);
            sparse += probabilities[j] < few;
        }
        sums->entropy += entropy;
        sums->sparsity += (float)sparse / (float)layout->tokens;
        add_reach(sums, layout, probabilities, i);
    }
}

void attention_stats_finish(struct attention_stats *sums, const struct attention_layout *layout)
{
    float queries = (float)(layout->end - layout->first);
    sums->entropy /= queries;
    sums->distance /= queries;
    sums->diagonal /= queries;
    sums->neighbour /= queries;
    sums->sparsity /= queries;
}
