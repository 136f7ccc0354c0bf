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
    {"engine/text/tables/form_tables.c",
     "add24c0824e869c46d743d35d6d807c456a5193ba3c33939056627c813bb6c47"},
    {"engine/text/tables/character_class_tables.c",
     "284a0d02bae13e98c9e140f826c29b5d0ef1697d7d72d0c211ad86f5402a4a15"},
    {"engine/text/tables/unicode_tables.c",
     "8245ab28b6b3cf3b372f2f6abf953f3c86336262ad7823821d5ef36b408621d4"},
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
