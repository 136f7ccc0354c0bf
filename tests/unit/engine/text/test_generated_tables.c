/* The tables that scripts generate are as the scripts wrote them: a byte that somebody changed in
 * 3 100 lines would be seen by no other test. Who generates one anew writes its digest here. */
#include "engine/base/file.h"
#include "engine/base/sha256.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *path, *digest; /* sha256sum PATH */
} tables[] = {
    {"engine/text/tables/form_tables.c",
     "0a5327be2607ec2e25b110bf6c96c813614f060c8f50d11fcaa8e3995baa6b99"},
    {"engine/text/tables/character_class_tables.c",
     "36fc6f6ae7cb7f737ab90180766cad824983bacef23a2ddde952e881584c19b2"},
    {"engine/text/tables/unicode_tables.c",
     "c94bfa9bc7f3fa4834bc9252dcbab6ca3c9d8dff5bffd82073f2428ba4e6658a"},
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
