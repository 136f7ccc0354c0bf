/* The assembler reads the files: no generator, no copy in C, and the bytes are shared between all
 * processes of the program. Paths are from the repository's root, where make runs. */
#include "server/ui/page.h"

#include <string.h>

#define PAGE(id, path, file, media_type)                                                           \
    __asm__(".section .rodata\n"                                                                   \
            ".global page_" #id "_begin, page_" #id "_end\n"                                       \
            "page_" #id "_begin:\n"                                                                \
            ".incbin \"server/ui/" file "\"\n"                                                     \
            "page_" #id "_end:\n"                                                                  \
            ".previous\n");                                                                        \
    extern const char page_##id##_begin[], page_##id##_end[];
#include "server/ui/page.def"
#undef PAGE

static const struct page_file files[] = {
#define PAGE(id, path, file, media_type) {path, media_type, page_##id##_begin, page_##id##_end},
#include "server/ui/page.def"
#undef PAGE
};

enum { FILES = sizeof files / sizeof files[0] };

const struct page_file *page_at(unsigned index)
{
    return index < FILES ? &files[index] : NULL;
}

const struct page_file *page_find(const char *path)
{
    for (unsigned i = 0; i < FILES; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}
