/* number_label.h - labels that are numbers: those of a regression.
 *
 *     double numbers[2];
 *     number_label_read("0.5|12", numbers, 2, &err);
 *
 * A model with several outputs has so many numbers in a label, written like several labels: with
 * '|' between them or, in JSON lines, as an array. Threads: no state.
 */
#ifndef ATTND_LEARN_DATA_NUMBER_LABEL_H
#define ATTND_LEARN_DATA_NUMBER_LABEL_H

#include "engine/base/err.h"

#define NUMBER_LABEL_MAX 1e30 /* well within fp32, in which models answer */

/* How many numbers the label has, if it is well formed; at least 1. */
unsigned number_label_count(const char *label);

/* Reads exactly `count` numbers, at least 1. ERR_UNUSABLE if the label has more or fewer, if one is
 * no finite number in decimal notation, or if one exceeds NUMBER_LABEL_MAX. */
enum err_code number_label_read(const char *label, double *numbers, unsigned count,
                                struct err *err);

#endif
