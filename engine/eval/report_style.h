/* report_style.h - the one style sheet of the page. */
#ifndef ATTND_ENGINE_EVAL_REPORT_STYLE_H
#define ATTND_ENGINE_EVAL_REPORT_STYLE_H

extern const char report_style[];

#endif
