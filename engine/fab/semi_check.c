#include "engine/fab/semi_check.h"

#include <assert.h>
#include <string.h>

enum { BASE = 8, MODULUS = 59 };

static bool is_of_marks(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

static unsigned sum_on(unsigned sum, char c)
{
    assert(is_of_marks(c));
    return (BASE * sum + (unsigned)(c - ' ')) % MODULUS;
}

enum err_code semi_check_compute(const char *text, size_t len, char check[SEMI_CHECK_LEN],
                                 struct err *err)
{
    unsigned sum = 0;
    if (len == 0)
        return err_set(err, ERR_UNUSABLE, "a mark without characters has no check characters");
    for (size_t i = 0; i < len; i++) {
        if (!is_of_marks(text[i]))
            return err_set(err, ERR_UNUSABLE,
                           "character %zu of %zu is none of a mark's: A to Z, 0 to 9, '-' and '.'",
                           i + 1, len);
        sum = sum_on(sum, text[i]);
    }
    const unsigned missing = (MODULUS - sum_on(sum_on(sum, 'A'), '0')) % MODULUS;
    check[0] = (char)('A' + missing / BASE);
    check[1] = (char)('0' + missing % BASE);
    return ERR_OK;
}

bool semi_check_holds(const char *mark, size_t len)
{
    char check[SEMI_CHECK_LEN];
    struct err err = {0};
    return len > SEMI_CHECK_LEN &&
           semi_check_compute(mark, len - SEMI_CHECK_LEN, check, &err) == ERR_OK &&
           memcmp(mark + len - SEMI_CHECK_LEN, check, SEMI_CHECK_LEN) == 0;
}

/* The end of what was read, behind the first character: the letter of check characters, which is H
 * for three digits alone, or both of them. A state is 1 + sum + 59 x ending. */
enum ending { ENDING_OTHER, ENDING_LETTER, ENDING_H, ENDING_BOTH, ENDINGS };

_Static_assert((int)SEMI_CHECK_STATES == 1 + (int)MODULUS * (int)ENDINGS,
               "one for each and a start");

static enum ending ending_behind(enum ending before, char c)
{
    const char last = before == ENDING_LETTER ? '7' : '2';
    if (c >= 'A' && c <= 'H')
        return c == 'H' ? ENDING_H : ENDING_LETTER;
    return (before == ENDING_LETTER || before == ENDING_H) && c >= '0' && c <= last ? ENDING_BOTH
                                                                                    : ENDING_OTHER;
}

bool semi_check_step(unsigned *state, char c)
{
    if (!is_of_marks(c))
        return false;
    const unsigned sum = *state == 0 ? 0 : (*state - 1) % MODULUS;
    const enum ending ending =
        *state == 0 ? ENDING_OTHER : ending_behind((enum ending)((*state - 1) / MODULUS), c);
    *state = 1 + sum_on(sum, c) + MODULUS * ending;
    return true;
}

bool semi_check_state_holds(unsigned state)
{
    return state == 1 + MODULUS * ENDING_BOTH;
}
