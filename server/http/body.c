#include "server/http/body.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void body_init(struct body *body, struct memory *memory)
{
    *body = (struct body){.memory = memory};
}

/* Doubling keeps copies below twice the bytes; an announced length caps the last step. */
static size_t next_capacity(const struct body *body, size_t need, size_t announced)
{
    size_t capacity = body->capacity > 0 ? body->capacity : BODY_SMALL_BYTES / 16;
    while (capacity < need)
        capacity = capacity > SIZE_MAX / 4 ? need : capacity * 2;
    return announced >= need && announced < capacity ? announced : capacity;
}

static enum err_code grow(struct body *body, size_t need, size_t announced, struct err *err)
{
    size_t capacity = next_capacity(body, need, announced);
    size_t more = capacity - body->capacity;
    enum memory_use use = capacity > BODY_SMALL_BYTES ? MEMORY_LARGE : MEMORY_SMALL;
    if (memory_take_more(body->memory, body->capacity, more, use, err))
        return err->code;
    char *bytes = realloc(body->bytes, capacity + 1);
    if (bytes == NULL) {
        memory_give(body->memory, more);
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
    memory_give(body->memory, body->capacity);
    free(body->bytes);
    body_init(body, body->memory);
}
