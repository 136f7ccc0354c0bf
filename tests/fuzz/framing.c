/* A request's head as the HTTP library hands it over: a line each for method, version and target,
 * then fields "name:value" as they stand. The same fields are tried as trailers. */
#include "server/http/framing.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_MAX = 16 };

struct head {
    char *method, *version, *target;
    struct framing_field fields[FIELDS_MAX];
    size_t count;
};

static void read_head(struct head *head, struct fuzz_input *input)
{
    head->method = fuzz_part(input, '\n', NULL);
    head->version = fuzz_part(input, '\n', NULL);
    head->target = fuzz_part(input, '\n', NULL);
    for (head->count = 0; head->count < FIELDS_MAX && input->left > 0; head->count++) {
        struct framing_field *field = &head->fields[head->count];
        const uint8_t *end = memchr(input->at, '\n', input->left);
        size_t line = end != NULL ? (size_t)(end - input->at) : input->left;
        struct fuzz_input rest = {input->at, line};
        field->name = fuzz_part(&rest, ':', &field->name_len);
        field->value = fuzz_part(&rest, '\n', &field->value_len);
        input->at += line + (end != NULL);
        input->left -= line + (end != NULL);
    }
}

static void free_head(struct head *head)
{
    for (size_t i = 0; i < head->count; i++) {
        free((void *)(uintptr_t)head->fields[i].name);
        free((void *)(uintptr_t)head->fields[i].value);
    }
    free(head->method);
    free(head->version);
    free(head->target);
}

static unsigned count_named(const struct head *head, const char *name)
{
    unsigned count = 0;
    for (size_t i = 0; i < head->count; i++)
        count += strcasecmp(head->fields[i].name, name) == 0;
    return count;
}

/* Checks an accepted request against the rules of framing.c, which are counted anew here. */
static void check_accepted(const struct head *head, const struct framing *framing)
{
    unsigned lengths = count_named(head, "Content-Length");
    unsigned encodings = count_named(head, "Transfer-Encoding");
    bool is_post = strcmp(head->method, "POST") == 0;
    FUZZ_CLAIM(framing->has_length == (lengths + encodings == 1));
    FUZZ_CLAIM(lengths + encodings <= 1 && count_named(head, "Host") <= 1);
    FUZZ_CLAIM((is_post && framing->has_length) || framing->body == FRAMING_NO_BODY);
    FUZZ_CLAIM((framing->body == FRAMING_CHUNKED) == (encodings == 1));
    FUZZ_CLAIM((framing->body == FRAMING_LENGTH) == (framing->length > 0));
    for (size_t i = 0; i < head->count; i++) {
        FUZZ_CLAIM(head->fields[i].name_len > 0);
        FUZZ_CLAIM(strpbrk(head->fields[i].name, " \t\r\n:\"") == NULL);
        FUZZ_CLAIM(memchr(head->fields[i].value, '\r', head->fields[i].value_len) == NULL);
    }
}

static void check_path(const struct head *head)
{
    struct err err = {0};
    char *path = malloc(strlen(head->target) + 1);
    FUZZ_CLAIM(path != NULL);
    framing_path(path, head->method, head->target, &err);
    fuzz_check_err(&err);
    FUZZ_CLAIM(strlen(path) <= strlen(head->target));
    FUZZ_CLAIM(err.code != ERR_OK || path[0] == '/' || strcmp(head->method, "CONNECT") == 0 ||
               strcmp(path, "*") == 0);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct head head;
    struct framing framing;
    struct err err = {0}, trailers = {0};
    read_head(&head, &input);
    if (framing_check(&framing, head.method, head.version, head.fields, head.count, &err) == ERR_OK)
        check_accepted(&head, &framing);
    fuzz_check_err(&err);
    if (framing_check_trailers(head.fields, head.count, &trailers) == ERR_OK)
        FUZZ_CLAIM(count_named(&head, "Content-Length") + count_named(&head, "Host") == 0);
    fuzz_check_err(&trailers);
    check_path(&head);
    free_head(&head);
    return 0;
}
