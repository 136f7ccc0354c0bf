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

#include "engine/base/clock.h"
#include "server/observe/json_line.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 };
_Static_assert(LINE_BYTES <= PIPE_BUF, "a line is written whole");

static const char cut_ending[] = ",\"cut\":true}\n";
enum { ENDING_BYTES = sizeof cut_ending, BODY_BYTES = LINE_BYTES - ENDING_BYTES };

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static _Atomic int level_now = LOG_INFO;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of descriptor 2 and of lost */
static unsigned long lost;                               /* lines, since one was taken */

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

/* Room for either ending is always left. */
static struct json_line build_line(char bytes[LINE_BYTES], enum log_level level, const char *event,
                                   const struct log_field *fields, unsigned count)
{
    struct json_line line = {.bytes = bytes, .size = BODY_BYTES};
    char now[CLOCK_UTC_BYTES];
    clock_utc(now);
    json_line_text(&line, "time", now);
    json_line_text(&line, "level", level_names[level]);
    json_line_text(&line, "event", event);
    for (unsigned i = 0; i < count && !line.is_cut; i++)
        if (fields[i].value.type == LOG_IS_NUMBER)
            json_line_number(&line, fields[i].name, fields[i].value.number);
        else
            json_line_text(&line, fields[i].name, fields[i].value.text);
    const char *ending = line.is_cut ? cut_ending : "}\n";
    memcpy(line.bytes + line.len, ending, strlen(ending));
    line.len += strlen(ending);
    return line;
}

/* True if the line was written. */
static bool write_line(const struct json_line *line)
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

void log_fields(enum log_level level, const char *event, const struct log_field *fields,
                unsigned count)
{
    if (!log_enabled(level))
        return;
    char bytes[LINE_BYTES], lost_bytes[LINE_BYTES];
    int saved = errno;
    const struct json_line line = build_line(bytes, level, event, fields, count);
    pthread_mutex_lock(&lock);
    if (lost > 0) {
        const struct log_field lines = LOG_NUMBER("lines", lost);
        const struct json_line told = build_line(lost_bytes, LOG_WARN, "log_lines_lost", &lines, 1);
        lost = write_line(&told) ? 0 : lost;
    }
    if (lost > 0 || !write_line(&line))
        lost++;
    pthread_mutex_unlock(&lock);
    errno = saved;
}
