/* outcome.h - the outcomes of a request, with the names that the tally, --accept and the reports
 * use.
 *
 * A test of shutdown must know whether the server had taken a request that failed. UNSENT: it had
 * not, the connection ended before the whole request arrived. LOST: it had, all of it arrived, and
 * then the connection was closed in order without an answer. RESET: unknown, the server closed with
 * bytes unread, or before it accepted the connection. connection.c says how they are told apart.
 */
#ifndef ATTND_TOOLS_CLIENT_OUTCOME_H
#define ATTND_TOOLS_CLIENT_OUTCOME_H

/* code, name, sentence */
#define OUTCOMES(X)                                                                                \
    X(OUTCOME_OK, "ok", "answered as expected")                                                    \
    X(OUTCOME_REJECTED, "rejected", "429 with Retry-After")                                        \
    X(OUTCOME_STATUS, "status", "answered with another status")                                    \
    X(OUTCOME_NO_RETRY_AFTER, "no_retry_after", "429 or 503 without Retry-After")                  \
    X(OUTCOME_MISMATCH, "mismatch", "answer differs from the expected one")                        \
    X(OUTCOME_MALFORMED, "malformed", "reply is not HTTP, or not an answer")                       \
    X(OUTCOME_REFUSED, "refused", "no connection: refused, or TLS not trusted")                    \
    X(OUTCOME_UNSENT, "unsent", "connection closed before the whole request reached it")           \
    X(OUTCOME_RESET, "reset", "connection reset after the request was sent: taken or not")         \
    X(OUTCOME_LOST, "lost", "request taken, connection closed without an answer")                  \
    X(OUTCOME_CUT, "cut", "connection closed in the middle of the answer")                         \
    X(OUTCOME_TIMEOUT, "timeout", "no answer in time")                                             \
    X(OUTCOME_DROPPED, "dropped", "never sent: the backlog was full or the run ended")

enum outcome {
#define X(code, name, sentence) code,
    OUTCOMES(X)
#undef X
        OUTCOME_COUNT
};

#endif
