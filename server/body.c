#include "server/body.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void body_init(struct body *body, struct body_budget *budget)
{
    *body = (struct body){.budget = budget};
}

static size_t loan_of(size_t capacity)
{
    return capacity > BODY_FREE_BYTES ? capacity - BODY_FREE_BYTES : 0;
}

static bool borrow(struct body_budget *budget, size_t bytes)
{
    size_t before = atomic_fetch_add(&budget->bytes, bytes);
    if (before <= budget->bytes_max && bytes <= budget->bytes_max - before)
        return true;
    atomic_fetch_sub(&budget->bytes, bytes);
    return false;
}

/* Doubling keeps copies below twice the bytes; an announced length caps the last step. */
static size_t next_capacity(const struct body *body, size_t need, size_t announced)
{
    size_t capacity = body->capacity > 0 ? body->capacity : BODY_FREE_BYTES / 16;
    while (capacity < need)
        capacity = capacity > SIZE_MAX / 4 ? need : capacity * 2;
    return announced >= need && announced < capacity ? announced : capacity;
}

static enum err_code grow(struct body *body, size_t need, size_t announced, struct err *err)
{
    size_t capacity = next_capacity(body, need, announced);
    size_t loan = loan_of(capacity) - loan_of(body->capacity);
    if (!borrow(body->budget, loan))
        return err_set(err, ERR_NOT_READY,
                       "request body: the bodies now arriving hold their limit of %zu bytes",
                       body->budget->bytes_max);
    char *bytes = realloc(body->bytes, capacity + 1);
    if (bytes == NULL) {
        atomic_fetch_sub(&body->budget->bytes, loan);
        return err_no_memory(err, capacity + 1);
    }
    body->bytes = bytes;
    body->capacity = capacity;
    return ERR_OK;
}

enum err_code body_append(struct body *body, const void *bytes, size_t len, size_t announced,
                          struct err *err)
{
    if (len > SIZE_MAX / 4 - body->len)
        return err_no_memory(err, len);
    if (len > body->capacity - body->len && grow(body, body->len + len, announced, err))
        return err->code;
    memcpy(body->bytes + body->len, bytes, len);
    body->len += len;
    body->bytes[body->len] = '\0';
    return ERR_OK;
}

void body_deinit(struct body *body)
{
    if (body->budget != NULL)
        atomic_fetch_sub(&body->budget->bytes, loan_of(body->capacity));
    free(body->bytes);
    body_init(body, body->budget);
}
