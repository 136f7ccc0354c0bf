/* log.c - see log.h. A line is built in a buffer on the stack and leaves in one write(2). The
 * buffer is PIPE_BUF bytes, the most that POSIX lets a pipe take whole or not at all (write(2),
 * "pipe(7)": PIPE_BUF), so lines of different threads and processes never mix, without malloc.
 * A line that would be longer loses its tail: texts are cut at a character's border, further fields
 * are dropped, "cut": true is added, and the line stays valid JSON.
 *
 * Logging never blocks a request: a line that the descriptor does not take at once (a full pipe
 * that nobody reads, a closed one) is lost, and the next one that is taken says how many were.
 * poll(2) tells beforehand, since O_NONBLOCK would change the descriptor for every process that
 * shares it. A pipe that can be written to takes PIPE_BUF bytes; the lock keeps another thread from
 * taking that room between the two calls. A process that shares the pipe could; the thread then
 * waits for it as for any reader.
 *
 * The level is the only process-wide state that may change; it is an atomic because a reload
 * changes it while threads log. */
#include "server/observe/log.h"

#include "engine/base/doc_string.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 };
_Static_assert(LINE_BYTES <= PIPE_BUF, "a line is written whole");

static const char cut_ending[] = ",\"cut\":true}\n";
enum { ENDING_BYTES = sizeof cut_ending, BODY_BYTES = LINE_BYTES - ENDING_BYTES };

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static _Atomic int level_now = LOG_INFO;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of descriptor 2 and of lost */
static unsigned long lost;                               /* lines, since one was taken */

struct line {
    size_t len;
    bool cut;
    char bytes[LINE_BYTES];
};

bool log_set_level(const char *name)
{
    for (int i = 0; i <= LOG_DEBUG; i++)
        if (strcmp(level_names[i], name) == 0) {
            atomic_store_explicit(&level_now, i, memory_order_relaxed);
            return true;
        }
    return false;
}

bool log_enabled(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&level_now, memory_order_relaxed);
}

/* Adds bytes unless they, and `reserve` more, do not fit. */
static bool add(struct line *line, const char *bytes, size_t len, size_t reserve)
{
    if (len + reserve > BODY_BYTES - line->len) {
        line->cut = true;
        return false;
    }
    memcpy(line->bytes + line->len, bytes, len);
    line->len += len;
    return true;
}

/* A JSON string; keeps room to close it. False: not even its quotes fit. */
static bool add_string(struct line *line, const char *text)
{
    size_t len = strlen(text);
    if (!add(line, "\"", 1, 1))
        return false;
    for (size_t at = 0; at < len;) {
        const struct doc_string_piece piece =
            doc_string_next(text + at, len - at, DOC_STRING_FOR_TERMINAL);
        if (!add(line, piece.bytes, piece.len, 1))
            break;
        at += piece.taken;
    }
    return add(line, "\"", 1, 0);
}

/* JSON has neither NaN nor infinity. Whole numbers are printed whole; 9 digits distinguish any two
 * floats. */
static bool add_number(struct line *line, double number)
{
    char text[32] = "null";
    if (isfinite(number))
        snprintf(text, sizeof text,
                 number == floor(number) && fabs(number) < 1e15 ? "%.0f" : "%.9g", number);
    return add(line, text, strlen(text), 0);
}

/* Takes the whole field back if its name or a number does not fit. */
static void add_field(struct line *line, const struct log_field *field)
{
    size_t start = line->len;
    bool whole =
        add(line, ",", 1, 0) && add_string(line, field->name) && !line->cut && add(line, ":", 1, 0);
    if (whole && field->value.type == LOG_IS_NUMBER)
        whole = add_number(line, field->value.number);
    else if (whole && field->value.text == NULL)
        whole = add(line, "null", 4, 0);
    else if (whole)
        whole = add_string(line, field->value.text);
    if (!whole)
        line->len = start;
}

/* RFC 3339 in UTC. gmtime_r takes the C library's time zone lock, so the date is computed here from
 * the day number (H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days, for
 * days after 1970). */
static void add_time(struct line *line, const struct timespec *now)
{
    uint64_t seconds = (uint64_t)now->tv_sec % 86400, day = (uint64_t)now->tv_sec / 86400 + 719468;
    uint64_t era = day / 146097, day_of_era = day % 146097;
    uint64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t month = (5 * day_of_year + 2) / 153; /* from March */
    unsigned civil_month = (unsigned)(month < 10 ? month + 3 : month - 9);
    char text[64];
    snprintf(text, sizeof text, "{\"time\":\"%04u-%02u-%02uT%02u:%02u:%02u.%03uZ\"",
             (unsigned)(year_of_era + era * 400 + (civil_month <= 2)), civil_month,
             (unsigned)(day_of_year - (153 * month + 2) / 5 + 1), (unsigned)(seconds / 3600),
             (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60),
             (unsigned)(now->tv_nsec / 1000000));
    add(line, text, strlen(text), 0);
}

static void build_line(struct line *line, enum log_level level, const char *event,
                       const struct log_field *fields, unsigned count)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    add_time(line, &now);
    const struct log_field head[] = {LOG_TEXT("level", level_names[level]),
                                     LOG_TEXT("event", event)};
    add_field(line, &head[0]);
    add_field(line, &head[1]);
    for (unsigned i = 0; i < count && !line->cut; i++)
        add_field(line, &fields[i]);
    const char *ending = line->cut ? cut_ending : "}\n";
    memcpy(line->bytes + line->len, ending, strlen(ending));
    line->len += strlen(ending);
}

/* Whether the descriptor took the line. */
static bool write_line(const struct line *line)
{
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    ssize_t written;
    if (poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0)
        return false;
    do
        written = write(STDERR_FILENO, line->bytes, line->len);
    while (written < 0 && errno == EINTR);
    return written == (ssize_t)line->len;
}

static void tell_lost_locked(void)
{
    struct line line = {0};
    const struct log_field count = LOG_NUMBER("lines", lost);
    build_line(&line, LOG_WARN, "log_lines_lost", &count, 1);
    if (write_line(&line))
        lost = 0;
}

void log_fields(enum log_level level, const char *event, const struct log_field *fields,
                unsigned count)
{
    if (!log_enabled(level))
        return;
    struct line line = {0};
    int saved = errno;
    build_line(&line, level, event, fields, count);
    pthread_mutex_lock(&lock);
    if (lost > 0)
        tell_lost_locked();
    if (lost > 0 || !write_line(&line))
        lost++;
    pthread_mutex_unlock(&lock);
    errno = saved;
}
