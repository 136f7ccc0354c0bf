#include "server/ui/page.h"

#include "engine/embed.h"

#include <string.h>

#define PAGE(id, path, file, media_type) EMBED(page_##id, "server/ui/" file)
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
