#include "server/serve/explain.h"

#include "engine/base/base64.h"
#include "engine/base/clock.h"
#include "server/serve/claim.h"
#include "server/serve/watch.h"

#include <stdlib.h>

/* A heat map in the making: RGBA, the PNG of it, and base64 in the tree and in the text of the
 * reply; a PNG that cannot be packed is as large as its pixels. */
enum { OVERLAY_BYTES_PER_PIXEL = 16 };

static bool has_overlay(const struct row *row)
{
    return row->request->call.overlay && row->input.kind == ENGINE_IMAGE;
}

static size_t overlay_pixels(const struct row *row)
{
    return has_overlay(row) ? (size_t)row->input.width * row->input.height : 0;
}

static const struct predict_item *item_of(const struct row *row)
{
    return &row->request->call.items[row - row->request->rows];
}

static size_t bytes_of(const struct row *row)
{
    const struct engine_model *engine = row_engine(row);
    const bool is_text = row->input.kind == ENGINE_TEXT;
    return engine_capture_bytes(engine, &row->input, &row->request->call.how) +
           (is_text ? engine_phrases_bytes(engine, item_of(row)->source.len) : 0) +
           overlay_pixels(row) * OVERLAY_BYTES_PER_PIXEL;
}

/* ---- before ---- */

/* The request's own bytes first: more than the whole budget is never available. */
static enum err_code reserve(struct service *service, struct request *request, struct row *row)
{
    size_t bytes = bytes_of(row), most = service->config->explain_bytes_max;
    if (bytes > most - request->capture_bytes)
        return err_set(&row->err, ERR_TOO_LARGE,
                       "explain: the request's inputs up to this one need %zu bytes of attention, "
                       "the limit (explain_bytes_max) is %zu; send fewer or shorter ones",
                       request->capture_bytes + bytes, most);
    size_t before = atomic_fetch_add(&service->capture_bytes, bytes);
    request->capture_bytes += bytes;
    if (before > most - bytes)
        err_set(&request->err, ERR_QUEUE_FULL,
                "too many explanations at once: their attention takes all of %zu bytes "
                "(explain_bytes_max)",
                most);
    else
        claim_explaining(service, request, row, bytes);
    return ERR_OK;
}

/* After the last row; if the pool refuses it, the request is answered with that error. */
static void enter_pool(struct request *request)
{
    request_enter(request, REQUEST_EXPLAIN);
    if (prepare_submit(atomic_load(&request->service->prepare), request, PREPARE_EXPLAIN,
                       request->explain_units, &request->err))
        http_resume(request->exchange);
}

enum err_code explain_keep(struct service *service, struct request *request, struct row *row)
{
    size_t pixels = overlay_pixels(row);
    if (pixels > OVERLAY_PIXELS_MAX) {
        err_set(&row->err, ERR_UNUSABLE,
                "overlay: a heat map has at most %d pixels, the image has %zu; without "
                "overlay it is explained by its grid",
                OVERLAY_PIXELS_MAX, pixels);
        return row->err.code;
    }
    if (reserve(service, request, row) || request->err.code != ERR_OK)
        return row->err.code;
    request->then = enter_pool;
    request->explain_units += EXPLAIN_ROW_UNITS + overlay_pixels(row);
    return engine_capture(row_engine(row), &row->input, &request->call.how,
                          &request->exchange->arena, &row->err);
}

void explain_release(struct service *service, struct request *request)
{
    atomic_fetch_sub(&service->capture_bytes, request->capture_bytes);
    request->capture_bytes = 0;
}

/* ---- after ---- */

/* Encodes in pieces that leave no padding between them, each some milliseconds. */
static enum err_code encode_png(char *out, const char *png, size_t len, struct interrupt *interrupt,
                                struct err *err)
{
    enum { PIECE = 3 << 16 };
    for (size_t at = 0; at < len; at += PIECE) {
        if (interrupt_look(interrupt, err))
            return err->code;
        base64_encode(out + at / 3 * 4, png + at, len - at < PIECE ? len - at : PIECE);
    }
    return ERR_OK;
}

static enum err_code add_overlay(struct row *row, struct explanation *explanation,
                                 struct interrupt *interrupt, struct arena *arena)
{
    char *png;
    size_t len;
    if (engine_overlay(explanation, interrupt, &png, &len, &row->err))
        return row->err.code;
    char *text = arena_alloc(arena, base64_encoded_size(len));
    if (text == NULL)
        err_no_memory(&row->err, base64_encoded_size(len));
    else if (!encode_png(text, png, len, interrupt, &row->err))
        explanation->overlay = text;
    free(png);
    return row->err.code;
}

static void explain_row(struct row *row, struct interrupt *interrupt, struct arena *arena)
{
    struct explanation *explanation = arena_alloc_array(arena, 1, sizeof *explanation);
    if (explanation == NULL) {
        err_no_memory(&row->err, sizeof *explanation);
        return;
    }
    if (row->answer.result.task == ENGINE_GENERATE && row->answer.result.text_count == 0)
        return; /* no text obeys the rules */
    row->answer.explanation = explanation;
    if (row->answer.result.task == ENGINE_GENERATE)
        engine_align(row_engine(row), &row->input, row->answer.result.texts, arena, explanation,
                     &row->err);
    else
        engine_explain(row_engine(row), &item_of(row)->source, &row->input, &row->request->call.how,
                       row->answer.result.label, arena, explanation, &row->err);
    if (row->err.code == ERR_OK && has_overlay(row))
        add_overlay(row, explanation, interrupt, arena);
}

enum err_code explain_rows(const struct service *service, struct request *request)
{
    struct watch watch;
    struct interrupt *interrupt = watch_begin(&watch, service, request);
    request_take_texts(request);
    for (unsigned i = 0; i < request->good_count; i++) {
        struct row *row = request->good[i];
        if (row->err.code == ERR_OK && !interrupt_look(interrupt, &row->err))
            explain_row(row, interrupt, &request->exchange->arena);
    }
    request->explained_ns = clock_now_ns();
    return request->err.code;
}
