/* The file of keys. A set that is accepted is read again from its text as the same, shares what was
 * used, and finds only what was hashed. */
#include "server/auth/keys.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_key(const struct keys *keys, const struct key *key)
{
    size_t len = strlen(key->name);
    FUZZ_CLAIM(len > 0 && len <= KEYS_NAME_BYTES_MAX);
    FUZZ_CLAIM(key->scopes != 0 && key->scopes < 1U << SCOPE_COUNT);
    FUZZ_CLAIM((key->scopes & (1U << SCOPE_UNSAID | 1U << SCOPE_OPEN)) == 0);
    FUZZ_CLAIM(key->limits.rate >= 0 && key->limits.rate <= KEYS_RATE_MAX);
    FUZZ_CLAIM(key->limits.concurrency <= KEYS_CONCURRENCY_MAX);
    FUZZ_CLAIM(key->certificate == NULL ||
               keys_find_certificate(keys, &key->certificate, 1) == key);
    FUZZ_CLAIM(key->meter != NULL && key->line > 0);
}

static void read_again(const struct keys *keys, const char *text, size_t size)
{
    struct keys *again;
    struct err err = {0};
    FUZZ_CLAIM(keys_parse(&again, text, size, "keys", keys, &err) == ERR_OK);
    FUZZ_CLAIM(keys_are_same(keys, again) && keys_count(keys) == keys_count(again));
    for (unsigned i = 0; i < keys_count(keys); i++)
        FUZZ_CLAIM(keys_at(keys, i)->meter == keys_at(again, i)->meter);
    keys_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    struct keys *keys;
    struct err err = {0};
    FUZZ_CLAIM(keys_parse(&keys, text, size, "keys", NULL, &err) == err.code);
    fuzz_check_err(&err);
    FUZZ_CLAIM((keys == NULL) == (err.code != ERR_OK));
    if (keys != NULL) {
        FUZZ_CLAIM(keys_count(keys) <= KEYS_MAX);
        for (unsigned i = 0; i < keys_count(keys); i++)
            check_key(keys, keys_at(keys, i));
        const struct key *found = keys_find(keys, "k", 1);
        FUZZ_CLAIM(found == NULL || (found->hash[0] == 0x8254c329a92850f6));
        FUZZ_CLAIM(keys_find(keys, "", 0) == NULL);
        read_again(keys, text, size);
    }
    keys_close(keys);
    free(text);
    return 0;
}
