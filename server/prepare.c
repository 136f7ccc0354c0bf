#include "server/prepare.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct prepare {
    void (*work)(void *context, struct request *request); /* immutable, as context */
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t filled; /* with lock: first became non-NULL, or stopping was set */
    /* Under lock. */
    struct request *first, *last; /* linked by next */
    bool stopping;
    /* Of the main thread. */
    pthread_t *threads; /* [started] */
    unsigned started;
};

/* The next request in order; NULL when the pool stops and nothing waits. */
static struct request *take(struct prepare *prepare)
{
    pthread_mutex_lock(&prepare->lock);
    while (prepare->first == NULL && !prepare->stopping)
        pthread_cond_wait(&prepare->filled, &prepare->lock);
    struct request *request = prepare->first;
    if (request != NULL)
        prepare->first = request->next;
    pthread_mutex_unlock(&prepare->lock);
    return request;
}

static void *prepare_main(void *context)
{
    struct prepare *prepare = context;
    for (struct request *request; (request = take(prepare)) != NULL;)
        prepare->work(prepare->context, request);
    return NULL;
}

static enum err_code spawn(struct prepare *prepare, unsigned threads, struct err *err)
{
    for (; prepare->started < threads; prepare->started++) {
        int failure =
            pthread_create(&prepare->threads[prepare->started], NULL, prepare_main, prepare);
        if (failure != 0)
            return err_set(err, ERR_IO, "cannot start a thread: %s", strerror(failure));
    }
    return ERR_OK;
}

enum err_code prepare_start(struct prepare **out, unsigned threads,
                            void (*work)(void *context, struct request *request), void *context,
                            struct err *err)
{
    *out = NULL;
    struct prepare *prepare = calloc(1, sizeof *prepare);
    if (prepare == NULL)
        return err_no_memory(err, sizeof *prepare);
    prepare->work = work;
    prepare->context = context;
    pthread_mutex_init(&prepare->lock, NULL);
    pthread_cond_init(&prepare->filled, NULL);
    prepare->threads = calloc(threads, sizeof *prepare->threads);
    if (prepare->threads == NULL)
        err_no_memory(err, threads * sizeof *prepare->threads);
    else if (!spawn(prepare, threads, err)) {
        *out = prepare;
        return ERR_OK;
    }
    prepare_stop(prepare);
    prepare_free(prepare);
    return err->code;
}

bool prepare_submit(struct prepare *prepare, struct request *request)
{
    request->next = NULL;
    pthread_mutex_lock(&prepare->lock);
    bool accepted = !prepare->stopping;
    if (accepted && prepare->first == NULL)
        prepare->first = request;
    else if (accepted)
        prepare->last->next = request;
    if (accepted)
        prepare->last = request;
    pthread_mutex_unlock(&prepare->lock);
    pthread_cond_signal(&prepare->filled);
    return accepted;
}

void prepare_stop(struct prepare *prepare)
{
    if (prepare == NULL)
        return;
    pthread_mutex_lock(&prepare->lock);
    prepare->stopping = true;
    pthread_mutex_unlock(&prepare->lock);
    pthread_cond_broadcast(&prepare->filled);
    for (; prepare->started > 0; prepare->started--)
        pthread_join(prepare->threads[prepare->started - 1], NULL);
}

void prepare_free(struct prepare *prepare)
{
    if (prepare == NULL)
        return;
    pthread_cond_destroy(&prepare->filled);
    pthread_mutex_destroy(&prepare->lock);
    free(prepare->threads);
    free(prepare);
}
