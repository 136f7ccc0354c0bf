/* source_tree.h - the sources as a test sees them: who includes whom, directly and through others.
 *
 *     struct source_tree tree;
 *     source_tree_open(&tree, source_tree_product);
 *     for (size_t f = 0; f < tree.count; f++)
 *         ... tree.files[f].path, .text, .includes ...
 *     size_t count = source_tree_closure(&tree, &tree.files[0], seen);
 *     source_tree_close(&tree);
 *
 * The tree is what ATTND_SOURCE_ROOT names, or the current directory, which becomes the other one.
 * Any failure fails the test. Threads: one a tree.
 */
#ifndef ATTND_TESTS_SUPPORT_SOURCE_TREE_H
#define ATTND_TESTS_SUPPORT_SOURCE_TREE_H

#include <stdbool.h>
#include <stddef.h>

enum { SOURCE_PATH_SIZE = 200, SOURCE_INCLUDES_MAX = 64 };

struct source_include {
    bool is_system; /* <...> */
    unsigned line;
    char name[SOURCE_PATH_SIZE];
};

struct source_file {
    char path[SOURCE_PATH_SIZE]; /* "engine/base/err.h" */
    char *text;
    struct source_include includes[SOURCE_INCLUDES_MAX];
    size_t include_count;
};

struct source_tree {
    struct source_file *files; /* [count], by path */
    size_t count;
};

extern const char *const source_tree_product[]; /* the folders of the product; ends with NULL */

/* Reads every .c, .h and .def of the folders. */
void source_tree_open(struct source_tree *tree, const char *const *folders);
void source_tree_close(struct source_tree *tree);

/* NULL: there is none. */
const struct source_file *source_tree_find(const struct source_tree *tree, const char *path);

/* The files that a file includes, directly and indirectly, without itself. seen: [tree->count].
 * Returns their number. */
size_t source_tree_closure(const struct source_tree *tree, const struct source_file *file,
                           const struct source_file **seen);

/* An include directive in a line; false if it holds none. */
bool source_include_read(struct source_include *out, const char *line);

/* Folder of a path: "engine/base/err.h" -> "engine/base". */
void source_folder(const char *path, char folder[SOURCE_PATH_SIZE]);

#endif
