/* limits.h - every bound that is not a configuration option, on one page. */
#ifndef ATTND_SERVER_LIMITS_H
#define ATTND_SERVER_LIMITS_H

enum {
    LIMIT_HEAD_BYTES = 32 * 1024,             /* request line and headers */
    LIMIT_ID_BYTES = 128,                     /* `id`, X-Request-Id */
    LIMIT_MODEL_NAME_BYTES = 64,              /* a model's name */
    LIMIT_CONTEXT_BYTES = 64,                 /* one context string */
    LIMIT_JSON_DEPTH = 16,                    /* nesting of a request body */
    LIMIT_PREPARE_INLINE_BYTES = 64 * 1024,   /* bodies up to this are prepared on the I/O thread */
    LIMIT_PREPARE_INLINE_PIXELS = 512 * 1024, /* ... unless an image in them is larger than this */
    LIMIT_RETRY_AFTER_S = 1,                  /* what 429 and 503 advise at least */
    LIMIT_RETRY_AFTER_S_MAX = 3600,           /* and at most */
};

#endif
