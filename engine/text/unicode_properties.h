/* unicode_properties.h - the properties of a character: a record of the generated tables. */
#ifndef ATTND_ENGINE_TEXT_UNICODE_PROPERTIES_H
#define ATTND_ENGINE_TEXT_UNICODE_PROPERTIES_H

#include <stdint.h>

enum unicode_flag {
    UNICODE_CONTROL = 1,     /* Cc, Cf, Co but not tab, line feed, carriage return; also U+FFFD */
    UNICODE_SPACE = 2,       /* White_Space */
    UNICODE_PUNCTUATION = 4, /* P*, and every ASCII symbol */
    UNICODE_MARK = 8,        /* Mn: "strip accents" removes them */
    UNICODE_CJK = 16,        /* ideographs: BERT makes each a word of its own */
    UNICODE_DECOMPOSES = 32, /* has a canonical decomposition; Hangul syllables are not flagged */
};

struct unicode_properties {
    uint8_t flags;
    uint8_t combining_class; /* 0: a starter */
    int32_t lower_delta;     /* to the lower-case letter; see unicode_lower */
};

#endif
