/* fuzz.h - what fuzz targets share: their entry points, claims, files to be read by path, and a
 * reader that cuts an input into parts.
 *
 * A target is one file, tests/fuzz/NAME.c, around LLVMFuzzerTestOneInput. libFuzzer links it for
 * `make fuzz`; replay.c runs the committed inputs of all targets for `make test`. Besides:
 *
 *     tests/fuzz/corpus/NAME/   inputs that reach each part of the parser, and all that ever failed
 *     tests/fuzz/NAME.options   a word a line: libFuzzer's options, and folders with more inputs
 *     tests/fuzz/NAME.dict      libFuzzer's dictionary, where words help it through
 *
 * Left out of what reads bytes from outside: the HTTP library (not ours; layout.c and framing.c
 * judge what it has read); a folder as a data set (only names of files); command lines of the tools
 * (whoever types them is trusted); what the kernel says in /proc/self/stat (one fixed form); the 12
 * bytes that the health check compares; the load generator's workloads (its user's own files, read
 * by the same JSON parser).
 *
 * Threads: one.
 */
#ifndef ATTND_TESTS_FUZZ_DRIVER_FUZZ_H
#define ATTND_TESTS_FUZZ_DRIVER_FUZZ_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The replays are one program, so there the target's functions are its file's own and it says its
 * name (Makefile) to replay.c, before main. */
struct fuzz_target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
    struct fuzz_target *next;
};
void fuzz_target_add(struct fuzz_target *target);
#ifdef FUZZ_TARGET
static int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#pragma weak LLVMFuzzerCustomMutator
__attribute__((constructor)) static void fuzz_target_add_it(void)
{
    static struct fuzz_target target = {.name = FUZZ_TARGET, .run = LLVMFuzzerTestOneInput};
    fuzz_target_add(&target);
}
#endif

/* The target's: 0. It leaves nothing behind: memory, descriptors, state. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A target's own way to change an input, in place, to at most size_max bytes; the new size. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed);

/* libFuzzer's changes, for the above. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);

/* Aborts, and so reports a finding, unless the claim holds. Not assert: it stays in every build. */
#define FUZZ_CLAIM(claim) ((claim) ? (void)0 : fuzz_claim_failed(__FILE__, __LINE__, #claim))
void fuzz_claim_failed(const char *file, int line, const char *claim) __attribute__((noreturn));

/* A folder of this process in memory, removed at exit. */
const char *fuzz_dir(void);

/* Replaces the file `name` (may be "sub/folder/name") in it; returns its path. The file stays open
 * and is used again, so that an execution costs two system calls. `name` must be a literal. */
const char *fuzz_file(const char *name, const void *bytes, size_t len);

/* Removes a file that fuzz_file wrote; no harm if there is none. */
void fuzz_file_remove(const char *name);

/* A copy that ends where its block ends, so that a sanitizer sees any byte too far; to be freed. */
char *fuzz_copy(const uint8_t *data, size_t size);

/* Parts of an input. */
struct fuzz_input {
    const uint8_t *at;
    size_t left;
};
/* The next byte; 0 at the end. */
unsigned fuzz_byte(struct fuzz_input *input);
/* Everything up to the next `separator`, which is skipped, or the end; NUL-terminated, to be
 * freed. *len may be NULL. */
char *fuzz_part(struct fuzz_input *input, uint8_t separator, size_t *len);

/* Claims of every error: a code of the table; a text, in UTF-8, if and only if something failed. */
void fuzz_check_err(const struct err *err);

/* True if the bytes are JSON that our own reader takes. */
bool fuzz_is_json(const char *bytes, size_t len);

#endif
