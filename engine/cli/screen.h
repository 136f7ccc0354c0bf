/* screen.h - one line on standard error that tells how far a long run is. On a terminal the line
 * overwrites itself; a file gets a new line now and then, or none.
 *
 *     struct screen screen;
 *     screen_open(&screen, SCREEN_MS, 0);
 *     if (screen_begin(&screen)) {                               again and again
 *         fprintf(stderr, "%zu of %zu pieces", done, total);
 *         screen_end(&screen);
 *     }
 *     screen_clear(&screen);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_CLI_SCREEN_H
#define ATTND_ENGINE_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCREEN_MS = 200, SCREEN_FILE_MS = 60 * 1000 }; /* usual intervals */

struct screen {
    bool is_terminal;              /* standard error is one */
    unsigned terminal_ms, file_ms; /* least time between two lines; file_ms 0: a file gets none */
    uint64_t start_ns, shown_ns;
};

/* A terminal shows the first line at once, a file after file_ms. */
void screen_open(struct screen *screen, unsigned terminal_ms, unsigned file_ms);

/* True if a line is due: then print its text to stderr, without an end of line, and call
 * screen_end. Without lines for files, screen_end may be left out. */
bool screen_begin(struct screen *screen);
void screen_end(const struct screen *screen);

/* Takes the line off the terminal: before other output, and at the end. */
void screen_clear(const struct screen *screen);

/* A counter of inputs, for a terminal: "f32: 30 of 330 inputs, 1.0 a second, 5:00 left". The name
 * is borrowed. */
struct screen_counter {
    struct screen screen;
    const char *name;
    size_t total;
};
void screen_counter_open(struct screen_counter *counter, const char *name, size_t total);
void screen_counter_show(void *counter, size_t done);

#endif
