/* model_places.h - where models lie: those that come with the program, found by their names beside
 * the build in models/ and models/configs/ or below the installation's share/attnd/models/, and the
 * neighbours of a path that is none. For finding a model, and for telling what there is.
 *
 *     char bin[PATH_MAX], names[256] = "";
 *     model_places_bin(bin);
 *     model_places_shipped(bin, false, names, sizeof names);
 *     model_places_beside("models/wafer", names, sizeof names);
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_FORMAT_MODEL_PLACES_H
#define ATTND_ENGINE_FORMAT_MODEL_PLACES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The folder of the running program, from /proc/self/exe; "." if that cannot be read. */
void model_places_bin(char out[PATH_MAX]);

/* Finds a shipped model or configuration for a program in the folder `bin`. */
bool model_places_find(char out[PATH_MAX], const char *bin, const char *name);

/* Append to a list of names (nearest_list): shipped models, with or without the configurations that
 * have no weights; the directories with a model in a folder, each with `before` in front; and those
 * with their paths in the folder where `path` would lie. */
void model_places_shipped(const char *bin, bool with_configs, char *list, size_t size);
void model_places_in(const char *folder, const char *before, char *list, size_t size);
void model_places_beside(const char *path, char *list, size_t size);

#endif
