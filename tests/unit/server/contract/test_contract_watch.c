/* Requests that are long to prepare, over real sockets: they end at their deadline and when the
 * server stops, and there is a bound on them. The images are a few kilobytes each and declare
 * millions of pixels, so that preparing all of a request takes a second at least. */
#include "engine/base/base64.h"
#include "engine/vision/png.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 2000, IMAGES = 32 };

/* A black image of SIDE x SIDE pixels as PNG, in base64; yours to free. */
static char *large_image(void)
{
    struct image image = {.width = SIDE, .height = SIDE};
    struct err err = {0};
    char *png = NULL;
    size_t len;
    image.rgb = calloc(SIDE * SIDE, 3);
    ck_assert_ptr_nonnull(image.rgb);
    ck_assert_int_eq(png_encode(&png, &len, &image, &err), ERR_OK);
    char *base64 = malloc(base64_encoded_size(len));
    ck_assert_ptr_nonnull(base64);
    base64_encode(base64, png, len);
    free(png);
    free(image.rgb);
    return base64;
}

/* POST /predict of so many large images; yours to free. */
static char *large_request(unsigned copies, const char *options)
{
    char *base64 = large_image();
    size_t item = strlen(base64) + sizeof ",{\"image\":\"\"}", used = 0;
    char *items = calloc(copies, item);
    ck_assert_ptr_nonnull(items);
    for (unsigned i = 0; i < copies; i++)
        used += (size_t)sprintf(items + used, "%s{\"image\":\"%s\"}", i > 0 ? "," : "", base64);
    char *body = contract_format("{\"inputs\":[%s]%s}", items, options);
    char *request = contract_format("POST /predict HTTP/1.1\r\nHost: h\r\nContent-Type: "
                                    "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                    strlen(body), body);
    free(body);
    free(items);
    free(base64);
    return request;
}

/* Sends it to a server with these options; the answer. */
static struct reply ask(const char *const *options, const char *request)
{
    struct server_process server;
    server_process_start(&server, options);
    int fd = http_connect(server.port);
    ck_assert(http_send_text(fd, request));
    struct reply reply = reply_of(http_read(fd, false));
    close(fd);
    ck_assert_int_eq(server_process_stop(&server), 0);
    return reply;
}

START_TEST(a_deadline_that_passes_while_images_are_decoded_is_504)
{
    char *request = large_request(IMAGES, ",\"deadline_ms\":100");
    struct reply reply =
        ask((const char *[]){"--model", "wafer-vit=models/wafer-vit", NULL}, request);
    reply_expect_problem(&reply, 504, "deadline_passed",
                         "the deadline passed while the request was prepared");
    reply_free(&reply);
    free(request);
}
END_TEST

/* True if another request is in the server's hands. On one connection the question before is over,
 * and does not count. */
static bool has_another(int fd)
{
    ck_assert(http_send_text(fd, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"));
    struct http_answer answer = http_read(fd, false);
    ck_assert_int_eq(answer.status, 200);
    const bool has = strstr(answer.body, "\nattnd_requests_in_flight 2\n") != NULL;
    http_answer_free(&answer);
    return has;
}

/* The status would be 200 if the drain waited for the request. */
START_TEST(a_stop_does_not_wait_for_images_to_be_decoded)
{
    struct server_process server;
    char *request = large_request(IMAGES, "");
    server_process_start(&server, (const char *[]){"--model", "wafer-vit=models/wafer-vit",
                                                   "--drain-timeout-ms", "100", NULL});
    int watch = http_connect(server.port), fd = http_connect(server.port);
    ck_assert(http_send_text(fd, request));
    suite_await(has_another(watch));
    kill(server.pid, SIGTERM);
    struct reply reply = reply_of(http_read(fd, false));
    reply_expect_problem(&reply, 503, "not_ready", "the server is stopping");
    reply_free(&reply);
    ck_assert_int_eq(server_process_wait(&server), 0);
    close(fd);
    close(watch);
    free(request);
}
END_TEST

START_TEST(too_many_pixels_in_one_request_are_413_with_the_option)
{
    char *request = large_request(3, "");
    struct reply reply =
        ask((const char *[]){"--model", "wafer-vit=models/wafer-vit", "--image-pixels-max",
                             "4000000", "--request-pixels-max", "11999999", NULL},
            request);
    reply_expect_problem(&reply, 413, "too_large",
                         "the images up to $.inputs[2] have 12000000 pixels, the limit for one "
                         "request (request_pixels_max) is 11999999");
    reply_free(&reply);
    free(request);
}
END_TEST

SUITE("contract_watch", a_deadline_that_passes_while_images_are_decoded_is_504,
      a_stop_does_not_wait_for_images_to_be_decoded,
      too_many_pixels_in_one_request_are_413_with_the_option)
