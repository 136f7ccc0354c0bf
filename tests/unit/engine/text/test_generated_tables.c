/* The tables that scripts generate are as the scripts wrote them: a byte that somebody changed in
 * 1 500 lines would be seen by no other test. Who generates one anew writes its digest here. */
#include "engine/base/file.h"
#include "engine/base/sha256.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *path, *digest; /* sha256sum PATH */
} tables[] = {
    {"engine/text/tables/form_tables.c",
     "5f1cb7f106ff49af62eaa1f64c60585d4a66de09e869c79cceb83808373afd16"},
    {"engine/text/tables/unicode_tables.c",
     "cc899134c95e9a743abd19cf882849d106cb2d20c8e9aaebd0fc3d4240de0704"},
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
