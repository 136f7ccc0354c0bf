/* metrics_process.h - what the Prometheus client libraries report of a Linux process. */
#ifndef ATTND_SERVER_OBSERVE_METRICS_PROCESS_H
#define ATTND_SERVER_OBSERVE_METRICS_PROCESS_H

/* Negative: not provided by the kernel, so the metric is left out. */
struct metrics_process {
    double cpu_seconds;
    double open_fds, max_fds;
    double virtual_bytes, resident_bytes;
};

/* Current values of the calling process. Any thread. */
void metrics_process_read(struct metrics_process *out);

/* When the process started, since the epoch, to 10 ms. Computed from clocks that are adjusted while
 * the machine runs: ask once, since a changed value means a restart to a scraper. */
double metrics_process_start(void);

#endif
