/* log_capture.h - what is written to descriptor 2, for tests of what is logged.
 *
 *     log_capture_start();
 *     log_event(LOG_INFO, "model_loaded", ...);
 *     const char *text = log_capture_end();
 */
#ifndef ATTND_TESTS_SUPPORT_LOG_CAPTURE_H
#define ATTND_TESTS_SUPPORT_LOG_CAPTURE_H

/* Sends descriptor 2 into a file until log_capture_end. */
void log_capture_start(void);

/* The text that was written since, NUL-terminated, at most 64 KiB. The next capture overwrites it.
 */
const char *log_capture_end(void);

/* The rest of the only line with this event, from behind the event on; fails if there is none, or
 * more than one. The next call overwrites it. */
const char *log_capture_fields(const char *text, const char *event);

#endif
