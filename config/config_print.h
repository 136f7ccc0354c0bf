/* config_print.h - the configuration and its table, for people. Threads: any. */
#ifndef ATTND_CONFIG_CONFIG_PRINT_H
#define ATTND_CONFIG_CONFIG_PRINT_H

#include "config/config.h"

#include <stdio.h>

void config_print(const struct config *config, FILE *file); /* JSON that --config accepts */
void config_help(FILE *file);

#endif
