#include "tests/support/step.h"

#include "engine/base/doc.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double step_loss(const float *logits, unsigned rows, unsigned labels, float *dlogits)
{
    double loss = 0;
    for (unsigned r = 0; r < rows; r++) {
        const float *row = logits + (size_t)r * labels;
        double total = 0;
        for (unsigned l = 0; l < labels; l++)
            total += exp((double)row[l]);
        loss += labels == 1 ? (double)row[0] : log(total) - (double)row[r % labels];
        for (unsigned l = 0; l < labels; l++) {
            double slope = exp((double)row[l]) / total - (l == r % labels);
            dlogits[r * labels + l] = (float)((labels == 1 ? 1 : slope) / rows);
        }
    }
    return loss / rows;
}

struct json_t *step_open(const char *dir)
{
    char path[256];
    struct json_t *root;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/gradients.json", dir);
    doc_parse_file(&root, path, 1 << 20, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    return root;
}

/* Checks the norm of a tensor, and its scalar product with cos(0), cos(1), ... */
static void check_tensor(struct network *network, const struct parameter *parameter,
                         const struct json_t *tensors)
{
    const struct json_t *expected = doc_member(tensors, parameter->row.name);
    const float *gradient = network_gradient(network) + parameter->offset;
    double squares = 0, product = 0, norm, scalar;
    ck_assert_msg(expected != NULL, "%s", parameter->row.name);
    ck_assert(doc_as_number(doc_array_item(expected, 0), &norm));
    ck_assert(doc_as_number(doc_array_item(expected, 1), &scalar));
    for (size_t i = 0; i < parameter->row.count; i++) {
        squares += (double)gradient[i] * (double)gradient[i];
        product += (double)gradient[i] * cos((double)i);
    }
    bool is_key = parameter->row.field == TENSOR_KEY || parameter->row.field == TENSOR_GLOBAL_KEY;
    bool is_cancelled = is_key && parameter->row.part == TENSOR_BIAS;
    double bound = is_cancelled ? 1e-4 : 1e-4 * norm;
    ck_assert_msg(fabs(sqrt(squares) - norm) <= bound, "%s: norm %.7g, not %.7g",
                  parameter->row.name, sqrt(squares), norm);
    ck_assert_msg(fabs(product - scalar) <= 2 * bound, "%s: %.7g, not %.7g", parameter->row.name,
                  product, scalar);
}

void step_check(const char *name, struct network *network, const struct parameters *parameters,
                const struct network_batch *batch, const struct json_t *expected)
{
    const unsigned labels = parameters->spec.label_count;
    float *dlogits = calloc((size_t)batch->rows * labels, sizeof *dlogits);
    double loss;
    ck_assert_ptr_nonnull(dlogits);
    network_forward(network, batch);
    double got = step_loss(network_logits(network), batch->rows, labels, dlogits);
    ck_assert(doc_as_number(doc_member(expected, "loss"), &loss));
    printf("%s: loss %.7f, PyTorch's %.7f\n", name, got, loss);
    ck_assert_double_eq_tol(got, loss, 5e-6 * fabs(loss));
    network_backward(network, dlogits, 1);
    for (unsigned p = 0; p < parameters->count; p++)
        check_tensor(network, &parameters->list[p], doc_member(expected, "tensors"));
    free(dlogits);
}
