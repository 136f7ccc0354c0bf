/* config_file.h - the JSON file of a configuration. Private to config/. */
#ifndef ATTND_CONFIG_CONFIG_FILE_H
#define ATTND_CONFIG_CONFIG_FILE_H

#include "config/option.h"

/* Writes the file's members into config and marks given[option_index] for each. Errors are prefixed
 * with the path as the operator wrote it and the JSON path. */
enum err_code config_file_read(struct config *config, bool given[OPTION_TOTAL], const char *path,
                               struct err *err);

#endif
