/* The tables that scripts generate are as the scripts wrote them: a byte that somebody changed in
 * 6 300 lines would be seen by no other test. Who generates one anew writes its digest here. */
#include "engine/base/file.h"
#include "engine/base/sha256.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *path, *digest; /* sha256sum PATH */
} tables[] = {
    {"engine/text/form_tables.c",
     "ef5089bda121f3e5a194f6c8dad6537510cdbb343b5e68a677130d2a2d79799c"},
    {"engine/text/pipeline/character_class_tables.c",
     "2c9832f92fb1cb835663c7d078ee1cf3fe4557bbb349fd8f27d134cac6ec4bf8"},
    {"engine/text/unicode_tables.c",
     "a6a6505f951f63056e6d1706e4b96d60cb67166ff0dd4b63381a18186aa9d1f8"},
};

START_TEST(generated_tables_are_as_they_were_written)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char *text, digest[SHA256_HEX_BYTES];
        size_t len;
        struct err err = {0};
        ck_assert_msg(file_read(&text, &len, tables[i].path, 1 << 20, &err) == ERR_OK, "%s",
                      err.text);
        sha256_hex(text, len, digest);
        ck_assert_msg(strcmp(digest, tables[i].digest) == 0, "%s has the SHA-256 %s",
                      tables[i].path, digest);
        free(text);
    }
}
END_TEST

SUITE("generated_tables", generated_tables_are_as_they_were_written)
