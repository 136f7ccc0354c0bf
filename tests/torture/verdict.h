/* verdict.h - what the functions of calls.c ask before they do their work. Threads: any. */
#ifndef ATTND_TESTS_TORTURE_VERDICT_H
#define ATTND_TESTS_TORTURE_VERDICT_H

/* Counts a call of this name. 0: it shall do its work; else errno or FAULT_SHORT. */
int verdict(const char *call);

#endif
