#include "engine/base/clock.h"

#include <stdio.h>

/* gmtime_r takes the C library's time zone lock, so the date is computed here from the day number
 * (H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days, for days after
 * 1970). */
void clock_utc(char out[CLOCK_UTC_BYTES])
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seconds = (uint64_t)now.tv_sec % 86400, day = (uint64_t)now.tv_sec / 86400 + 719468;
    uint64_t era = day / 146097, day_of_era = day % 146097;
    uint64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t month = (5 * day_of_year + 2) / 153; /* from March */
    unsigned civil_month = (unsigned)(month < 10 ? month + 3 : month - 9);
    snprintf(out, CLOCK_UTC_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
             (unsigned)(year_of_era + era * 400 + (civil_month <= 2)) % 10000, civil_month,
             (unsigned)(day_of_year - (153 * month + 2) / 5 + 1), (unsigned)(seconds / 3600),
             (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60),
             (unsigned)(now.tv_nsec / 1000000));
}
