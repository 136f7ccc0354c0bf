/* verdict.h - what the functions of calls.c ask before they do their work. Threads: any. */
#ifndef ATTND_TESTS_TORTURE_VERDICT_H
#define ATTND_TESTS_TORTURE_VERDICT_H

#include <stdbool.h>

/* A thread that AddressSanitizer begins calls malloc before its function is called, and ends the
 * program if there is no memory: it is left alone until then. */
#ifdef __SANITIZE_ADDRESS__
#define FAULTS_SPARED_AT_FIRST true
#else
#define FAULTS_SPARED_AT_FIRST false
#endif

/* Counts a call of this name. 0: it shall do its work; else errno or FAULT_SHORT. */
int verdict(const char *call);

#endif
