/* page.h - the built-in page as it lies in the program: what server/ui/ holds, byte for byte.
 *
 * Threads: constant.
 */
#ifndef ATTND_SERVER_UI_PAGE_H
#define ATTND_SERVER_UI_PAGE_H

struct page_file {
    const char *path; /* where it is served: "/", "/ui/app.js" */
    const char *media_type;
    const char *begin, *end; /* its bytes; `end` is past the last */
};

/* NULL if nothing of the page is at this path. */
const struct page_file *page_find(const char *path);

/* The files in the order of page.def; NULL at the end. */
const struct page_file *page_at(unsigned index);

#endif
