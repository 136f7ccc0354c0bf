/* limits.h - every bound on a request that is not a configuration option.
 *
 * The table is also SECURITY.md's, which a test holds to it. Status: what a request beyond the
 * bound is answered with; 0 where nothing is refused.
 */
#ifndef ATTND_WIRE_LIMITS_H
#define ATTND_WIRE_LIMITS_H

/* name, value, unit, status, what it bounds */
#define LIMITS(X)                                                                                  \
    X(LIMIT_HEAD_BYTES, 16 * 1024, "bytes", 413, "request line and headers")                       \
    X(LIMIT_QUERY_ARGUMENTS, 64, "arguments", 413, "query of a request target")                    \
    X(LIMIT_ID_BYTES, 128, "bytes", 422,                                                           \
      "`id`; a longer `X-Request-Id` is replaced by one of ours")                                  \
    X(LIMIT_MODEL_NAME_BYTES, 64, "bytes", 422, "`model`")                                         \
    X(LIMIT_CONTEXT_BYTES, 64, "bytes", 422, "one string of `context`")                            \
    X(LIMIT_LABEL_BYTES, 256, "bytes", 422, "`label` of a feedback")                               \
    X(LIMIT_OUTPUT_BYTES, 4096, "bytes", 422,                                                      \
      "`output` of a feedback; a longer text of a model is given none")                            \
    X(LIMIT_SOURCE_BYTES, 64, "bytes", 422, "`source` of a feedback")                              \
    X(LIMIT_REASON_BYTES, 256, "bytes", 422, "`reason` of a promotion or a fit")                   \
    X(LIMIT_DIRECTORY_BYTES, 4096, "bytes", 422, "`dir` of a model")                               \
    X(LIMIT_JSON_DEPTH, 16, "levels", 413, "nesting of a JSON body")                               \
    X(LIMIT_JSON_BYTES, 1024 * 1024, "bytes", 413,                                                 \
      "a JSON body of /predict, without its strings of 2048 bytes and more; 2048 more for each "   \
      "possible input")                                                                            \
    X(LIMIT_LINES, 65536, "lines", 413,                                                            \
      "a body of lines (application/x-ndjson), which is answered in portions of `inputs_max`")     \
    X(LIMIT_UNPOOLED_JSON_BYTES, 16 * 1024, "bytes", 413,                                          \
      "a JSON body of any other route, which the thread that reads for everybody parses; 4096 "    \
      "more for each possible input")                                                              \
    X(LIMIT_ADMIN_CONNECTIONS, 64, "connections", 0,                                               \
      "open at `admin_listen`, beside `connections_max`; more wait in the backlog")                \
    X(LIMIT_UNUSED_BODY_BYTES, 4096, "bytes", 413, "the body of a POST that needs none")           \
    X(LIMIT_PREPARE_INLINE_BYTES, 64 * 1024, "bytes", 0,                                           \
      "a body up to this is prepared on the thread that read it")                                  \
    X(LIMIT_PREPARE_INLINE_PIXELS, 512 * 1024, "pixels", 0,                                        \
      "unless its images together are larger than this")                                           \
    X(LIMIT_ENCODE_INLINE_BYTES, 256 * 1024, "bytes", 0,                                           \
      "a reply that may be longer is encoded on a thread of the pool")                             \
    X(LIMIT_RETRY_AFTER_S, 1, "seconds", 0, "what 429 and 503 advise at least")                    \
    X(LIMIT_RETRY_AFTER_S_MAX, 3600, "seconds", 0, "and at most")

enum {
#define X(name, value, unit, status, what) name = value,
    LIMITS(X)
#undef X
};

#endif
