#include "learn/train/network/resize.h"

#include "engine/model/positions.h"

#include <string.h>

/* The first rows ([CLS], distillation) are no position in the image and are copied. */
static void resize_positions(const struct parameters *from, const float *from_values,
                             const struct parameters *to, float *to_values)
{
    size_t hidden = to->spec.hidden, specials = to->spec.family->image_specials;
    memcpy(to_values, from_values, specials * hidden * sizeof *to_values);
    positions_resize(to_values + specials * hidden, to->spec.image_size / to->spec.patch,
                     from_values + specials * hidden, from->spec.image_size / from->spec.patch,
                     hidden, to->spec.family->positions_antialiased);
}

enum err_code resize_values(const struct parameters *from, const float *from_values,
                            const struct parameters *to, float *to_values, struct err *err)
{
    for (unsigned i = 0; i < to->count; i++) {
        const struct parameter *target = &to->list[i], *source = &from->list[i];
        if (target->offset == to->map.position)
            resize_positions(from, from_values + source->offset, to, to_values + target->offset);
        else if (i < from->count && target->row.count == source->row.count)
            memcpy(to_values + target->offset, from_values + source->offset,
                   target->row.count * sizeof *to_values);
        else
            return err_set(err, ERR_INTERNAL, "tensor '%s' does not fit the other image size",
                           target->row.name);
    }
    return ERR_OK;
}
