/* A JSON file that is changed and kept. A file that opens can be saved and opens again, with the
 * same members and the change. */
#include "engine/base/doc_edit.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdio.h>
#include <string.h>

static void change(struct json_t *root, const char *path)
{
    struct json_t *again;
    struct err err = {0};
    const char *text = NULL;
    size_t members = doc_object_count(root) +
                     (doc_edit_member(root, "kept") == NULL && doc_member(root, "kept") == NULL);
    FUZZ_CLAIM(doc_edit_text(root, "kept", "a\"b", &err) == ERR_OK);
    FUZZ_CLAIM(doc_edit_rename(root, "absent", "gone", &err) == ERR_OK);
    FUZZ_CLAIM(doc_edit_save(root, path, &err) == ERR_OK);
    FUZZ_CLAIM(doc_edit_open(&again, path, &err) == ERR_OK);
    FUZZ_CLAIM(doc_get_string(again, "$", "kept", &text, &err) == ERR_OK);
    FUZZ_CLAIM(text != NULL && strcmp(text, "a\"b") == 0);
    FUZZ_CLAIM(doc_object_count(again) <= members);
    doc_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_t *root = NULL;
    struct err err = {0};
    char path[256];
    fuzz_file_remove("edited.json"); /* the writer puts another file in its place */
    snprintf(path, sizeof path, "%s", fuzz_file("edited.json", data, size));
    if (doc_edit_open(&root, path, &err) == ERR_OK)
        change(root, path);
    fuzz_check_err(&err);
    doc_free(root);
    return 0;
}
