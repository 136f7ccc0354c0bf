#include "engine/model/patch_windows.h"

unsigned patch_windows_cell(const struct spec *spec, unsigned shift, unsigned row)
{
    const struct spec_grid grid = spec_grid(spec);
    unsigned side = grid.window.width, window = row / (side * side), within = row % (side * side);
    unsigned down = window / grid.across * side + within / side + shift;
    unsigned right = window % grid.across * side + within % side + shift;
    return down % grid.image.height * grid.image.width + right % grid.image.width;
}

unsigned patch_windows_kind(const struct spec *spec, unsigned sequence)
{
    if (spec->stages == NULL)
        return 0;
    const struct spec_grid grid = spec_grid(spec);
    unsigned window = sequence % grid.windows, last = grid.across - 1;
    return (window / grid.across == last ? 2 : 0) + (window % grid.across == last ? 1 : 0);
}

/* Returns the shift of a stage's last layer. */
static unsigned last_shift(const struct spec *spec)
{
    return spec_shift(spec, spec_end_layer(spec) - 1);
}

/* out[row in the order of `to`] = row of the same patch in the order of `from`. */
static void fill(unsigned *out, unsigned *row_of, const struct spec *spec, unsigned from,
                 unsigned to)
{
    for (unsigned row = 0; row < spec->patches; row++)
        row_of[patch_windows_cell(spec, from, row)] = row;
    for (unsigned row = 0; row < spec->patches; row++)
        out[row] = row_of[patch_windows_cell(spec, to, row)];
}

enum err_code patch_windows_open(struct patch_windows *out, const struct spec *spec,
                                 struct arena *arena, struct err *err)
{
    const size_t n = spec->patches;
    const struct spec_grid grid = spec_grid(spec);
    const unsigned shift = grid.window.width / 2;
    *out = (struct patch_windows){.first = spec_first_layer(spec), .end = spec_end_layer(spec)};
    if (grid.across == 1)
        return ERR_OK;
    out->enter = arena_alloc_array(arena, 4 * n, sizeof *out->enter);
    if (out->enter == NULL)
        return err_no_memory(err, 4 * n * sizeof *out->enter);
    out->shift = out->enter + n;
    out->back = out->shift + n;
    out->leave = out->back + n;
    fill(out->shift, out->leave, spec, 0, shift);
    fill(out->back, out->leave, spec, shift, 0);
    for (unsigned row = 0; row < n; row++) {
        out->enter[row] = patch_windows_cell(spec, 0, row);
        out->leave[patch_windows_cell(spec, last_shift(spec), row)] = row;
    }
    return ERR_OK;
}

const unsigned *patch_windows_move(const struct patch_windows *windows, unsigned layer)
{
    if (layer == windows->first)
        return windows->enter;
    return (layer - windows->first) % 2 == 1 ? windows->shift : windows->back;
}

unsigned patch_windows_merged(const struct spec *spec, const struct patch_windows *windows,
                              unsigned patch, unsigned part)
{
    unsigned side = spec_grid(spec).image.width, half = side / 2;
    unsigned down = patch / half * 2 + part % 2, right = patch % half * 2 + part / 2;
    unsigned at = down * side + right;
    return windows->leave != NULL ? windows->leave[at] : at;
}
