/* vector_form.h - the form in which a vector is answered: cut, scaled, and encoded as
 * sentence-transformers' quantize_embeddings does (version 6.2.0).
 *
 *     float, base64   the numbers; base64 is of 32-bit floats, the lowest byte first
 *     int8, uint8     floor((x - least) / step), within 0 to 255; step = (largest - least) / 255,
 *                     or 1 if that is 0; int8 less 128. The ranges are attnd.json's
 *     binary, ubinary a bit for each number, 1 if it is above 0, the first of a byte its highest;
 *                     the last byte is filled with zeros. binary less 128
 *
 * The cut comes behind all modules of the model: of a vector of length 1 the beginning is shorter,
 * unless it is to be scaled again (Kusupati et al. 2022).
 *
 * Threads: no state.
 */
#ifndef ATTND_WIRE_VECTOR_FORM_H
#define ATTND_WIRE_VECTOR_FORM_H

#include "engine/engine.h"

enum vector_encoding {
    VECTOR_FLOAT,
    VECTOR_BASE64,
    VECTOR_INT8,
    VECTOR_UINT8,
    VECTOR_BINARY,
    VECTOR_UBINARY,
    VECTOR_ENCODINGS
};

#define VECTOR_ENCODING_NAMES "float, base64, int8, uint8, binary or ubinary"

#define VECTOR_CHUNKS_NAMES "lines or tokens"

/* All zero: as the model gives it. */
struct vector_form {
    unsigned dimensions; /* so many of its first numbers; 0: all */
    enum vector_encoding encoding;
    bool is_scaled;             /* to length 1, after the cut */
    enum engine_vectors chunks; /* of which there is a vector each beside it: of lines in the same
                                   form, of tokens their states, float or base64 */
};

/* Finds an encoding by its name [len]; false: none has it. */
bool vector_encoding_find(const char *name, size_t len, enum vector_encoding *out);
const char *vector_encoding_name(enum vector_encoding encoding);
/* The same of chunks; the name of VECTORS_ONE is NULL. */
bool vector_chunks_find(const char *name, size_t len, enum engine_vectors *out);
const char *vector_chunks_name(enum engine_vectors chunks);

/* ERR_UNUSABLE for a form that the model cannot give; the text begins with the member. Chunks of a
 * model without vectors are left to engine_prepare. */
enum err_code vector_form_check(const struct vector_form *form, const struct engine_info *info,
                                struct err *err);

/* Numbers of the vector in that form, before it is encoded; and of what stands in an array. */
unsigned vector_form_size(const struct vector_form *form, const struct engine_info *info);
unsigned vector_form_count(const struct vector_form *form, const struct engine_info *info);

/* Scales the vectors of an input's result in place, if the form asks for it: once. */
void vector_form_scale(const struct vector_form *form, const struct engine_info *info,
                       const struct engine_input *input, struct engine_result *result);

/* Number `index` of the array, of an encoding in integers. */
int vector_form_integer(const struct vector_form *form, const struct engine_info *info,
                        const float *vector, unsigned index);

#endif
