/* semi_check.h - the two check characters at the end of a wafer's mark: a letter A to H and a digit
 * 0 to 7, which catch a wrong reading.
 *
 *     char check[SEMI_CHECK_LEN];
 *     semi_check_compute("AM1664-24", 9, check, &err);       // "A2"
 *     if (semi_check_holds("AM1664-24A2", 11)) ...
 *
 * Source: SEMI M13, Specification for Alphanumeric Marking of Silicon Wafers, which M12's marks
 * obey too. A mark is read as a number to the base 8 whose digits are its characters' codes less
 * 32: x = (8 x + code - 32) mod 59. The check characters make x of the whole mark 0.
 *
 * 59 is a prime, 8 generates all its residues, and no two characters of marks are equal modulo 59.
 * So one wrong character and two neighbours that are swapped are always found, and 58 of 59 other
 * mistakes on average.
 *
 * Threads: any number; no state is shared.
 */
#ifndef ATTND_ENGINE_FAB_SEMI_CHECK_H
#define ATTND_ENGINE_FAB_SEMI_CHECK_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { SEMI_CHECK_LEN = 2 };

/* The check characters that belong behind text [len], without a NUL. ERR_UNUSABLE, with the place,
 * if a character is none of A to Z, 0 to 9, '-' and '.', or if there is none. */
enum err_code semi_check_compute(const char *text, size_t len, char check[SEMI_CHECK_LEN],
                                 struct err *err);

/* True if the last two characters of mark [len] are the ones that semi_check_compute gives for
 * those before them. A sum of 0 is not enough: H3 to H7 sum up as A0 to A4 do, and no mark has
 * them. */
bool semi_check_holds(const char *mark, size_t len);

/* The same, a character at a time: a finite automaton. State 0 is the empty mark's.
 *
 *     unsigned state = 0;
 *     if (semi_check_step(&state, c)) ...        for each character of a mark
 *     if (semi_check_state_holds(state)) ...
 */
enum { SEMI_CHECK_STATES = 237 };
/* False, and the state stays: a character that marks do not have. */
bool semi_check_step(unsigned *state, char c);
bool semi_check_state_holds(unsigned state);

#endif
