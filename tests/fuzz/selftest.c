/* attnd-selftest.json: an accepted file has cases within the limits, and tolerances that order. */
#include "engine/selftest.h"

#include "tests/fuzz/driver/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct selftest *selftest;
    struct err err = {0};
    fuzz_file(SELFTEST_FILE, data, size);
    if (selftest_open(&selftest, fuzz_dir(), &err) == ERR_OK) {
        FUZZ_CLAIM(selftest != NULL);
        FUZZ_CLAIM(selftest_count(selftest) >= 1 && selftest_count(selftest) <= SELFTEST_CASES_MAX);
        FUZZ_CLAIM(selftest_tolerance(selftest, "f32") > 0);
    } else {
        FUZZ_CLAIM(selftest == NULL);
    }
    selftest_close(selftest);
    fuzz_check_err(&err);
    return 0;
}
