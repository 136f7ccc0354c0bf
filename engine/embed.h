/* embed.h - a file of the source tree as bytes of the program.
 *
 *     EMBED(report_page_style, "learn/eval/report/report_page.css")
 *     fputs(report_page_style_begin, file);
 *
 * The assembler reads the file: no generator, no copy in C, and the bytes are shared between all
 * processes of the program. Its path is from the repository's root, where make runs. The compiler
 * does not see that the object depends on it: the Makefile says so.
 *
 * Threads: constant.
 */
#ifndef ATTND_ENGINE_EMBED_H
#define ATTND_ENGINE_EMBED_H

/* Defines name_begin and name_end, which is past the last byte and where a NUL stands. */
#define EMBED(name, path)                                                                          \
    __asm__(".section .rodata\n"                                                                   \
            ".global " #name "_begin, " #name "_end\n" #name "_begin:\n"                           \
            ".incbin \"" path "\"\n" #name "_end:\n"                                               \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char name##_begin[], name##_end[];

#endif
