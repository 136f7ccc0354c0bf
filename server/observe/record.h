/* record.h - the outcome of a request and of each of its inputs, written once and read by the
 * observers; all counts are made from it.
 *
 *     observers_add(&observers, metrics_observer(metrics));
 *     ...
 *     observers_prediction(&observers, &record);
 *
 * Threads: observers are added before the first request; their functions are called by any thread.
 * A record and all that it points to is the caller's, for the length of the call.
 */
#ifndef ATTND_SERVER_OBSERVE_RECORD_H
#define ATTND_SERVER_OBSERVE_RECORD_H

#include "engine/base/err.h"
#include "server/observe/trace_record.h"
#include "wire/answer.h"
#include "wire/answer_outcome.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* One input that was answered, or refused by itself among others that were answered. */
struct prediction_record {
    const char *id;           /* the reply's */
    const char *item_id;      /* the input's own; NULL: none */
    const char *context;      /* the input's, or the call's: a JSON object as text; NULL: none */
    unsigned index;           /* of the input in its request */
    const char *key;          /* name of the key that asked; NULL: none was needed */
    const char *input_digest; /* "sha256:..." of the picture's bytes or the text; NULL: not made */
    const char *trace_id;     /* of the request; NULL: it is in no trace */
    struct err err;           /* code != ERR_OK: nothing below is set */
    unsigned model;           /* the metrics' */
    const struct answer *answer;
    bool is_sampled; /* drawn at random among the automatic ones (server/review/sample.h) */
    double queue_s, inference_s;
};

/* One request, when all of it is over. */
struct request_record {
    const char *id;
    const char *context;    /* NULL: none */
    const char *key;        /* name of the key that was sent, if it is known; NULL: none */
    const char *route;      /* its pattern; NULL: no such path */
    int route_index, model; /* the metrics'; model: the one that all inputs use, if there is one */
    int stage_model;        /* the model under which the stages count: the first input's */
    unsigned status;
    enum err_code reason; /* of a request that was answered with a problem */
    unsigned inputs;
    bool has_left; /* the client closed its connection before all of it was computed */
    double total_s;
    const struct trace_record *trace; /* NULL: it is in none */
    /* Stages of a request that was answered with predictions; below 0: the stage did not run. */
    double parse_s, prepare_s, similar_s, explain_s, encode_s;
};

/* A reload of the configuration or another change of what is served, also one that failed. */
struct change_record {
    const char *action;          /* "promote", ... (server/rollout); NULL: a reload */
    const char *model, *version; /* of an action; NULL: not known */
    const char *told;            /* the reason that a client gave; NULL: none */
    uint64_t generation;
    const char *const *changed; /* [changed_count] "inputs_max", "models.wafer-vit" */
    unsigned changed_count;
    const char *reason; /* of a failure; NULL: there was none */
    const char *key;    /* name of the key that asked for it; NULL: a signal, or none was needed */
};

/* A copy of an input was judged by a shadow version. */
struct shadow_record {
    const char *id; /* as in the prediction_record of the answer */
    unsigned index;
    const char *model, *version; /* the shadow's */
    const char *label;           /* that it would have answered; NULL: a number */
    bool is_set;                 /* answer_outcome.h */
    uint64_t set;
    const char *const *labels; /* [label_count] all that it can */
    unsigned label_count;
    bool agrees; /* the label is the answer's, or the number within 1 % of the larger one */
};

struct observer {
    void *context;
    void (*begun)(void *context); /* NULL: not of interest; as the others */
    void (*prediction)(void *context, const struct prediction_record *record);
    void (*request)(void *context, const struct request_record *record);
    void (*change)(void *context, const struct change_record *record);
    void (*shadow)(void *context, const struct shadow_record *record);
};

enum { OBSERVERS_MAX = 8 };

struct observers {
    struct observer list[OBSERVERS_MAX];
    unsigned count;
};

/* The observers that are always there. */
struct observer log_observer(void); /* the events "request" and "prediction" at level debug */
struct metrics;
struct observer metrics_observer(struct metrics *metrics); /* which must outlive it */

static inline void observers_add(struct observers *observers, struct observer observer)
{
    assert(observers->count < OBSERVERS_MAX);
    observers->list[observers->count++] = observer;
}

/* A request has been seen: a request record will follow. */
static inline void observers_begun(const struct observers *observers)
{
    for (unsigned i = 0; i < observers->count; i++)
        if (observers->list[i].begun != NULL)
            observers->list[i].begun(observers->list[i].context);
}

static inline void observers_prediction(const struct observers *observers,
                                        const struct prediction_record *record)
{
    for (unsigned i = 0; i < observers->count; i++)
        if (observers->list[i].prediction != NULL)
            observers->list[i].prediction(observers->list[i].context, record);
}

static inline void observers_request(const struct observers *observers,
                                     const struct request_record *record)
{
    for (unsigned i = 0; i < observers->count; i++)
        if (observers->list[i].request != NULL)
            observers->list[i].request(observers->list[i].context, record);
}

static inline void observers_shadow(const struct observers *observers,
                                    const struct shadow_record *record)
{
    for (unsigned i = 0; i < observers->count; i++)
        if (observers->list[i].shadow != NULL)
            observers->list[i].shadow(observers->list[i].context, record);
}

static inline void observers_change(const struct observers *observers,
                                    const struct change_record *record)
{
    for (unsigned i = 0; i < observers->count; i++)
        if (observers->list[i].change != NULL)
            observers->list[i].change(observers->list[i].context, record);
}

#endif
