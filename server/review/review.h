/* review.h - inputs that a person is to look at, kept with what was answered: those whose decision
 * was not auto, and a random sample of the others (sample.h).
 *
 *     review_open(&review, &(struct review_options){.state_dir = dir, .bytes_max = n, ...}, &err);
 *     review_offer(review, request);                        its reply is out; copies are taken
 *     review_list(review, &filter, &arena, &page, &err);
 *     review_look(review, "die-7", 0, &place, &err) == ERR_OK &&
 *         review_read(review, &place, &arena, &input, &err);
 *     review_after(review, 0, entries, 64, &count, &err);   from the oldest on, to walk over all
 *     review_close(review);                                 after the last offer
 *
 * A thread writes them to files (kept_file.h) of STATE_DIR/inputs; what waits for it is bounded in
 * number and bytes, and in the process's memory for requests, and what does not fit is dropped and
 * counted: no request waits for the disk. The oldest files make room for new ones when they take
 * bytes_max of the disk together, in whole blocks, or are REVIEW_INPUTS_MAX.
 *
 * After a restart the thread first reads what is there; until then nothing can be listed or found,
 * and new inputs wait for it. Files that are not ours are left alone, with a line in the log.
 *
 * Measured (2 processors that others use too, x86-64, ext4; each file and its folder are synced):
 * 450 files a second. At 3500 requests a second, all of them offered, the median of /predict rose
 * from 0.246 ms to 0.253 ms, and two of three were dropped.
 *
 * Threads: any, but for open and close. Listing and reading open files, on the caller's thread.
 */
#ifndef ATTND_SERVER_REVIEW_REVIEW_H
#define ATTND_SERVER_REVIEW_REVIEW_H

#include "server/bounds/memory.h"
#include "server/review/kept_file.h"

enum {
    REVIEW_JOBS_MAX = 256,
    REVIEW_BYTES_MAX = 32 * 1024 * 1024, /* that wait */
    REVIEW_INPUTS_MAX = 100000,
    REVIEW_LIMIT_MAX = 100 /* of one list */
};

struct feedback;
struct metrics;
struct request;
struct review;

struct review_options {
    const char *state_dir;     /* made if it is absent */
    size_t bytes_max;          /* of the disk, of all files; above 0 */
    struct memory *memory;     /* borrowed */
    struct feedback *feedback; /* borrowed; its keys are those of entries */
};

/* The most memory, in bytes, that the list takes for kept inputs of so many bytes. */
size_t review_bytes(size_t bytes_max);

/* Makes the directory and starts the thread. Yours to close. ERR_UNUSABLE: the directory cannot be
 * made or written; ERR_NO_MEMORY. */
enum err_code review_open(struct review **out, const struct review_options *options,
                          struct err *err);
/* Writes what waits. NULL is allowed. */
void review_close(struct review *review);

/* Offers the inputs of an answered request. Called by its owner, while its inputs and its snapshot
 * are held. */
void review_offer(struct review *review, const struct request *request);

struct review_filter {
    enum decision decision; /* DECISION_COUNT: any */
    uint64_t before;        /* only older ones than this number; UINT64_MAX: all */
    unsigned limit;         /* 1 to REVIEW_LIMIT_MAX */
    const char *model;      /* NULL: any */
};

struct review_page {
    struct kept_input *inputs; /* [count] newest first, without their bytes */
    unsigned count;
    uint64_t next; /* `before` of the next page; 0: there is none */
};

/* The most memory, in bytes, that a page of that many inputs takes. */
size_t review_list_bytes(unsigned limit);

/* ERR_NOT_READY: what was kept before the start, or the audit log of before, is being read;
 * ERR_NO_MEMORY. */
enum err_code review_list(struct review *review, const struct review_filter *filter,
                          struct arena *arena, struct review_page *out, struct err *err);

struct review_place {
    const char *id;
    uint64_t number;
    size_t bytes; /* that reading it takes */
};

/* The newest of id and index. ERR_NOT_FOUND; ERR_NOT_READY. */
enum err_code review_look(struct review *review, const char *id, unsigned index,
                          struct review_place *out, struct err *err);
/* ERR_NOT_FOUND: it has made room for another since. */
enum err_code review_read(struct review *review, const struct review_place *place,
                          struct arena *arena, struct kept_input *out, struct err *err);

/* The oldest entries whose number is above `after`, at most so many. ERR_NOT_READY. */
enum err_code review_after(struct review *review, uint64_t after, struct kept_entry *out,
                           unsigned most, unsigned *count, struct err *err);
/* That input; with its bytes if asked for. As kept_file_read. */
enum err_code review_open_entry(struct review *review, const struct kept_entry *entry,
                                bool with_bytes, struct arena *arena, struct kept_input *out,
                                struct err *err);

/* Its collector of metrics: metrics_register. All 0 of NULL. */
void review_register(struct review *review, struct metrics *metrics);

#endif
