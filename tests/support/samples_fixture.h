/* samples_fixture.h - a golden model's spec, a data set and its samples; the model itself is the
 * oracle of what samples prepare. A failure fails the test. */
#ifndef ATTND_TESTS_SUPPORT_SAMPLES_FIXTURE_H
#define ATTND_TESTS_SUPPORT_SAMPLES_FIXTURE_H

#include "engine/engine.h"
#include "learn/data/samples.h"

#define GOLDEN "tests/data/golden/"

struct samples_fixture {
    struct arena arena;
    struct spec spec;
    struct dataset dataset;
    struct samples *samples;
    struct engine_model *model;
    struct err err;
};

/* `dir` is the model's. open_with leaves in `err` what opening the samples said; open expects no
 * error of it. Close what was opened. */
void samples_fixture_open_with(struct samples_fixture *fixture, const char *dir, const char *data,
                               const struct samples_options *options);
void samples_fixture_open(struct samples_fixture *fixture, const char *dir, const char *data);
void samples_fixture_close(struct samples_fixture *fixture);

/* An item prepared; its arrays live as long as the fixture. */
struct engine_input samples_fixture_input(struct samples_fixture *fixture, size_t item,
                                          const struct samples_view *view, struct rng *rng);

#endif
