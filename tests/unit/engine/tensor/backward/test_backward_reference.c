/* The oracle's gradients against finite differences of the forward oracle.
 *
 * A loss L is a sum of fp32 outputs, computed in double inside the kernel and rounded once. With
 * the central difference D(h) = (L(x + h) - L(x - h)) / 2h, (4 D(h) - D(2h)) / 3 has an error of
 * h^4 / 30 of the fifth derivative (Richardson 1911) and of about 2^-24 |y| / h from the rounding.
 * Steps are powers of two that make both about 1e-6 where numbers are about 1; that is why they are
 * so large. The difference of the arguments is taken as fp32 has them. Bounds are ten times the
 * error expected; a wrong sign, factor or term is a thousand times larger.
 */
#include "tests/support/backward_reference.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

static const struct backward *const oracle = &backward_reference;

struct loss {
    double (*of)(const struct loss *loss);
    float *x;              /* [n], what is differentiated */
    float *y;              /* [n], of the forward pass */
    const float *dy;       /* [n], L = sum dy y */
    const float *residual; /* [n], a second branch: L += sum residual x */
    const float *gamma, *beta;
    size_t n;
    float scale;
    enum activation act;
};

static double central(const struct loss *loss, float *number, float step)
{
    const float old = *number, above = old + step, below = old - step;
    *number = above;
    double high = loss->of(loss);
    *number = below;
    double low = loss->of(loss);
    *number = old;
    return (high - low) / ((double)above - below);
}

/* dL / d number */
static double slope_by_differences(const struct loss *loss, float *number, float step)
{
    return (4 * central(loss, number, step) - central(loss, number, 2 * step)) / 3;
}

static void expect_slopes(const struct loss *loss, float *numbers, const float *gradient,
                          float step, double bound, const char *what)
{
    for (size_t i = 0; i < loss->n; i++) {
        double expected = slope_by_differences(loss, &numbers[i], step);
        ck_assert_msg(fabs(gradient[i] - expected) <= bound, "%s, number %zu of %zu: %g, not %g",
                      what, i, loss->n, (double)gradient[i], expected);
    }
}

static double outputs(const struct loss *loss)
{
    double total = 0;
    for (size_t i = 0; i < loss->n; i++)
        total += (double)loss->dy[i] * loss->y[i];
    for (size_t i = 0; loss->residual != NULL && i < loss->n; i++)
        total += (double)loss->residual[i] * loss->x[i];
    return total;
}

/* ---- layer norm ---- */

static double norm_loss(const struct loss *loss)
{
    kernels_reference.layer_norm(loss->y, loss->n, loss->x, loss->n, loss->gamma, loss->beta, 1,
                                 loss->n, 1e-5f);
    return outputs(loss);
}

START_TEST(layer_norm_gradient_is_the_slope_of_layer_norm)
{
    enum { WIDTH = 33 };
    float *x = numbers_new(WIDTH, 4, 1), *y = numbers_new(WIDTH, 0, 0);
    float *dy = numbers_new(WIDTH, 1, 2), *gamma = numbers_new(WIDTH, 2, 3);
    float *beta = numbers_new(WIDTH, 1, 4), *residual = numbers_new(WIDTH, 1, 5);
    float dx[WIDTH], dgamma[WIDTH] = {0}, dbeta[WIDTH] = {0}, stats[2];
    struct loss loss = {norm_loss, x, y, dy, NULL, gamma, beta, WIDTH, 0, ACTIVATION_NONE};
    oracle->layer_norm(dx, WIDTH, stats, dy, WIDTH, x, WIDTH, gamma, NULL, 0, 1, WIDTH, 1e-5f);
    expect_slopes(&loss, x, dx, 0.125f, 3e-5, "dx");
    loss.residual = residual;
    oracle->layer_norm(dx, WIDTH, stats, dy, WIDTH, x, WIDTH, gamma, residual, WIDTH, 1, WIDTH,
                       1e-5f);
    expect_slopes(&loss, x, dx, 0.125f, 3e-5, "dx and a residual");
    oracle->layer_norm_columns(dgamma, dbeta, dy, WIDTH, x, WIDTH, stats, 1, 0, WIDTH);
    expect_slopes(&loss, gamma, dgamma, 0.5f, 1e-5, "dgamma"); /* linear: any step */
    expect_slopes(&loss, beta, dbeta, 0.5f, 1e-5, "dbeta");
    free(x), free(y), free(dy), free(gamma), free(beta), free(residual);
}
END_TEST

static double rms_loss(const struct loss *loss)
{
    kernels_reference.rms_norm(loss->y, loss->n, loss->x, loss->n, loss->gamma, 1, loss->n, 1e-5f);
    return outputs(loss);
}

START_TEST(rms_norm_gradient_is_the_slope_of_rms_norm)
{
    enum { WIDTH = 33 };
    float *x = numbers_new(WIDTH, 4, 1), *y = numbers_new(WIDTH, 0, 0);
    float *dy = numbers_new(WIDTH, 1, 2), *gamma = numbers_new(WIDTH, 2, 3);
    float *residual = numbers_new(WIDTH, 1, 5);
    float dx[WIDTH], dgamma[WIDTH] = {0}, unused[WIDTH] = {0}, stats[2];
    struct loss loss = {rms_loss, x, y, dy, NULL, gamma, NULL, WIDTH, 0, ACTIVATION_NONE};
    for (size_t i = 0; i < WIDTH; i++)
        x[i] += 1; /* away from a mean of 0, where a layer norm has the same slope */
    oracle->rms_norm(dx, WIDTH, stats, dy, WIDTH, x, WIDTH, gamma, NULL, 0, 1, WIDTH, 1e-5f);
    expect_slopes(&loss, x, dx, 0.125f, 3e-5, "dx");
    loss.residual = residual;
    oracle->rms_norm(dx, WIDTH, stats, dy, WIDTH, x, WIDTH, gamma, residual, WIDTH, 1, WIDTH,
                     1e-5f);
    expect_slopes(&loss, x, dx, 0.125f, 3e-5, "dx and a residual");
    oracle->layer_norm_columns(dgamma, unused, dy, WIDTH, x, WIDTH, stats, 1, 0, WIDTH);
    expect_slopes(&loss, gamma, dgamma, 0.5f, 1e-5, "dgamma");
    free(x), free(y), free(dy), free(gamma), free(residual);
}
END_TEST

/* ---- activations ---- */

static double activation_loss(const struct loss *loss)
{
    oracle->activate(loss->y, loss->x, loss->n, loss->act);
    return outputs(loss);
}

/* The test goes from -6 to 6, one number at a time. 0, where relu has a corner, is further away
 * than two steps. */
START_TEST(activation_gradient_is_the_slope_of_the_activation)
{
    const float step = 0.03125f;
    for (int act = 0; act < ACTIVATION_COUNT; act++)
        for (int i = -60; i < 60; i++) {
            float x = ((float)i + 0.5f) * 0.1f, y, dy = 1.5f, dx;
            if (fabsf(x) <= 2 * step)
                x = copysignf(0.07f, x);
            struct loss loss = {.of = activation_loss, .x = &x, .y = &y, .dy = &dy, .n = 1};
            loss.act = (enum activation)act;
            oracle->activation(&dx, &dy, &x, 1, loss.act);
            expect_slopes(&loss, &x, &dx, step, 2e-5, "activation");
        }
}
END_TEST

static double gate_loss(const struct loss *loss)
{
    kernels_reference.gate(loss->y, loss->x, loss->n, loss->act);
    return outputs(loss);
}

START_TEST(gate_gradient_is_the_slope_of_the_gate)
{
    enum { N = 5 };
    float *x = numbers_new(2 * N, 4, 1), y[N], *dy = numbers_new(N, 2, 3), dx[2 * N];
    for (int act = 0; act < ACTIVATION_COUNT; act++) {
        struct loss loss = {.of = gate_loss, .x = x, .y = y, .dy = dy, .n = N};
        loss.act = (enum activation)act;
        oracle->gate(dx, dy, x, N, loss.act);
        expect_slopes(&loss, x, dx, 0.03125f, 1e-4, "gate");
        expect_slopes(&loss, x + N, dx + N, 0.03125f, 1e-4, "value");
    }
    free(x), free(dy);
}
END_TEST

START_TEST(slope_of_relu_at_zero_is_zero)
{
    float x[2] = {0, -0.0f}, dy[2] = {3, 3}, dx[2] = {1, 1};
    oracle->activation(dx, dy, x, 2, ACTIVATION_RELU);
    ck_assert(dx[0] == 0 && dx[1] == 0);
}
END_TEST

/* ---- softmax ---- */

/* The loss of scale x. The scale is a power of two, so that the product is exact. */
static double softmax_loss(const struct loss *loss)
{
    for (size_t i = 0; i < loss->n; i++)
        loss->y[i] = loss->x[i] * loss->scale;
    kernels_reference.softmax(loss->y, loss->y, loss->n);
    return outputs(loss);
}

START_TEST(softmax_gradient_is_the_slope_of_softmax)
{
    static const size_t sizes[] = {1, 2, 7, 33};
    for (int s = 0; s < 4; s++) {
        size_t n = sizes[s];
        float *x = numbers_new(n, 8, 1), *p = numbers_new(n, 0, 0), *dp = numbers_new(n, 2, 2);
        float *ds = numbers_new(n, 0, 0);
        struct loss loss = {.of = softmax_loss, .x = x, .y = p, .dy = dp, .n = n, .scale = 0.25f};
        softmax_loss(&loss);
        oracle->softmax(ds, p, dp, n, loss.scale);
        expect_slopes(&loss, x, ds, 0.125f, 1e-5, "softmax");
        free(x), free(p), free(dp), free(ds);
    }
}
END_TEST

/* ---- dropout ---- */

static double dropout_loss(const struct loss *loss)
{
    oracle->dropout(loss->y, loss->x, loss->n, 77, 5, 0.25f);
    return outputs(loss);
}

START_TEST(dropout_of_the_gradient_is_the_slope_of_dropout)
{
    enum { COUNT = 50 };
    float *x = numbers_new(COUNT, 2, 1), *dy = numbers_new(COUNT, 1, 2), y[COUNT], dx[COUNT];
    struct loss loss = {.of = dropout_loss, .x = x, .y = y, .dy = dy, .n = COUNT};
    oracle->dropout(dx, dy, COUNT, 77, 5, 0.25f);
    expect_slopes(&loss, x, dx, 0.5f, 1e-5, "dropout");
    free(x), free(dy);
}
END_TEST

SUITE("backward_reference", layer_norm_gradient_is_the_slope_of_layer_norm,
      rms_norm_gradient_is_the_slope_of_rms_norm, gate_gradient_is_the_slope_of_the_gate,
      activation_gradient_is_the_slope_of_the_activation, slope_of_relu_at_zero_is_zero,
      softmax_gradient_is_the_slope_of_softmax, dropout_of_the_gradient_is_the_slope_of_dropout)
