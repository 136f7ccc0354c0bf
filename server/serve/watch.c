#include "server/serve/watch.h"

bool watch_wanted(const struct service *service, struct request *request)
{
    if (atomic_load(&service->phase) == SERVICE_STOPPING) {
        err_set(&request->err, ERR_NOT_READY, "the server is stopping");
    } else if (request->deadline_ns != 0 && request->deadline_ns <= clock_now_ns()) {
        err_set(&request->err, ERR_DEADLINE, "the deadline passed while the request was prepared");
    } else if (http_client_gone(request->exchange)) {
        request->is_abandoned = true;
        err_set(&request->err, ERR_SLOW, "the client closed the connection before its turn");
    }
    return request->err.code == ERR_OK;
}

enum err_code watch_look(void *context, struct err *err)
{
    const struct watch *watch = context;
    if (watch_wanted(watch->service, watch->request))
        return ERR_OK;
    return err_set(err, watch->request->err.code, "%s", watch->request->err.text);
}

struct interrupt *watch_begin(struct watch *watch, const struct service *service,
                              struct request *request)
{
    const uint64_t interval_ns = (uint64_t)WATCH_INTERVAL_MS * CLOCK_NS_PER_MS;
    *watch = (struct watch){.service = service, .request = request};
    watch->interrupt = (struct interrupt){.look = watch_look,
                                          .context = watch,
                                          .interval_ns = interval_ns,
                                          .next_ns = clock_now_ns() + interval_ns};
    return &watch->interrupt;
}
