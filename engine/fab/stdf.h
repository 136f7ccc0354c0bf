/* stdf.h - reads wafers from STDF V4, the datalog of a test floor (Teradyne, Standard Test Data
 * Format Specification, version 4), for lot_formats.c.
 *
 * The reader is strict in the records that a map needs: FAR (byte order, version), MIR (lot), WIR
 * and WRR (begin and end of a wafer), WCR (directions of x and y), PRR (a die: coordinates, pass or
 * fail, bin), MRR (the end). Every other record is skipped by its length. Of a file that is cut off
 * the wafers that had ended are kept; `lost` says what is missing, and drawing a wafer that had not
 * ended is refused.
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_FAB_STDF_H
#define ATTND_ENGINE_FAB_STDF_H

#include "engine/fab/lot.h"

/* Fills a lot that is open and empty. ERR_MALFORMED and ERR_UNUSABLE, with the byte offset;
 * ERR_TOO_LARGE, ERR_NO_MEMORY. */
enum err_code stdf_read(struct lot *out, const void *bytes, size_t len, struct err *err);

/* Upper bound of the memory that stdf_read takes of so many bytes. */
size_t stdf_read_bytes(size_t len, unsigned wafers_max);

#endif
