/* handlers.h - the handlers of the routes: a file for each kind. route.c lists them; route.h has
 * the contract of each function.
 *
 * Threads: head, begin and finish run on the I/O thread of the exchange.
 */
#ifndef ATTND_SERVER_API_HANDLERS_H
#define ATTND_SERVER_API_HANDLERS_H

#include "server/serve/service.h"

/* predict.c: prediction requests, by the protocol of the route. */
enum err_code predict_head(struct service *service, struct request *request);
enum http_next predict_begin(struct service *service, struct request *request);
void predict_finish(struct service *service, struct request *request);
enum http_next predict_more(struct service *service, struct request *request);
/* On a thread of the prepare pool: a heavy request's reading or preparation, or any request's
 * explanations; `context` is the service. True: all of it was completed. */
bool predict_pool(void *context, struct request *request);

/* admin.c */
enum http_next admin_reload_begin(struct service *service, struct request *request);
void admin_reload_finish(struct service *service, struct request *request);

/* rollout.c */
enum err_code rollout_head(struct service *service, struct request *request);
enum http_next rollout_load(struct service *service, struct request *request);
enum http_next rollout_shares(struct service *service, struct request *request);
enum http_next rollout_promote(struct service *service, struct request *request);
enum http_next rollout_rollback(struct service *service, struct request *request);
enum http_next rollout_unload(struct service *service, struct request *request);
void rollout_finish(struct service *service, struct request *request);

/* fits.c */
enum err_code fits_read_head(struct service *service, struct request *request);
enum http_next fits_post(struct service *service, struct request *request);
enum http_next fits_list_begin(struct service *service, struct request *request);
enum http_next fits_one_begin(struct service *service, struct request *request);
enum http_next fits_delete(struct service *service, struct request *request);
enum http_next fits_report_begin(struct service *service, struct request *request);

/* feedback.c */
enum err_code feedback_head(struct service *service, struct request *request);
enum http_next feedback_post(struct service *service, struct request *request);
enum http_next feedback_delete(struct service *service, struct request *request);

/* review.c */
enum err_code review_head(struct service *service, struct request *request);
enum http_next review_list_begin(struct service *service, struct request *request);
enum http_next review_input_begin(struct service *service, struct request *request);
enum http_next review_groups_begin(struct service *service, struct request *request);
bool review_groups_work(void *context, struct request *request);
void review_groups_finish(struct service *service, struct request *request);

/* models.c */
enum http_next models_list(struct service *service, struct request *request);
enum http_next models_one(struct service *service, struct request *request);

/* others.c: what clients of other servers ask beside predictions. */
enum http_next others_health(struct service *service, struct request *request);
enum http_next others_info(struct service *service, struct request *request);
enum http_next others_models(struct service *service, struct request *request);
enum http_next others_model(struct service *service, struct request *request);

/* oip.c: the Open Inference Protocol beside inference; rollout.c loads and unloads. */
enum http_next oip_server(struct service *service, struct request *request);
enum http_next oip_live(struct service *service, struct request *request);
enum http_next oip_ready(struct service *service, struct request *request);
enum http_next oip_model(struct service *service, struct request *request);
enum http_next oip_model_ready(struct service *service, struct request *request);
enum http_next oip_statistics(struct service *service, struct request *request);
enum http_next oip_index(struct service *service, struct request *request);

/* openapi.c */
enum http_next openapi_one(struct service *service, struct request *request);

/* page_files.c */
enum http_next page_files_one(struct service *service, struct request *request);

/* cors.c: pages of other origins.
 * From the head, before the route's method is judged: answers a preflight of a path that there is.
 * `allow`: what the path's routes that change nothing answer to, "GET, HEAD". False: it is none, or
 * the option is empty. */
bool cors_preflight(struct request *request, const char *allow);
/* Adds to a reply that is filled in what a page of another origin needs; nothing if the option is
 * empty. Without memory the page cannot read the answer. */
void cors_add(struct request *request);

/* status.c */
enum http_next status_alive(struct service *service, struct request *request);
enum http_next status_ready(struct service *service, struct request *request);
enum http_next status_metrics(struct service *service, struct request *request);

#endif
