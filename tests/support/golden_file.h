/* golden_file.h - an output compared, byte by byte, with a small file that is committed.
 *
 *     struct golden_file golden;
 *     golden_file_open(&golden);
 *     report_print(&report, golden.file);
 *     golden_file_mask(&golden, "<style>", "</style>");
 *     golden_file_expect(&golden, "tests/data/eval/report/full.txt");
 *
 * ATTND_GOLDEN_WRITE=1 in the environment writes the files instead of comparing; what is written is
 * to be read like code, for it becomes what is right. Any difference fails the test and is
 * shown. Threads: one at a time.
 */
#ifndef ATTND_TESTS_SUPPORT_GOLDEN_FILE_H
#define ATTND_TESTS_SUPPORT_GOLDEN_FILE_H

#include <stddef.h>
#include <stdio.h>

struct golden_file {
    FILE *file; /* written by what is tested; closed by the first of the calls below */
    char *text;
    size_t len;
};

void golden_file_open(struct golden_file *golden);
/* The text so far, which ends in a NUL; the golden's. */
const char *golden_file_text(struct golden_file *golden);
/* Leaves out what stands between `before` and the next `behind`, wherever it does: times, versions,
 * bytes of a library. */
void golden_file_mask(struct golden_file *golden, const char *before, const char *behind);
/* Frees the text. */
void golden_file_expect(struct golden_file *golden, const char *path);

#endif
