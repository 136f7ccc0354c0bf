/* fits_tell.h - what a fit leaves in the audit log and in the server's own.
 *
 *     {"type":"fit","action":"requested","fit":7,"model","from_version","version","key"?,"reason"?}
 *     {"type":"fit","action":"succeeded","fit":7,...,"labels":{"Donut":12},"digest"?,"failed"?}
 *
 * "action" is then the state that it ended in; "failed" is what went wrong, also of one that
 * succeeded and could not be loaded. "digest" is the new version's, as far as it was loaded.
 *
 * Threads: any; the job is the caller's.
 */
#ifndef ATTND_SERVER_FITS_FITS_TELL_H
#define ATTND_SERVER_FITS_FITS_TELL_H

#include "server/fits/fits_state.h"

/* ERR_NOT_READY: the audit log cannot be written, and it is to refuse then. */
enum err_code fits_tell_requested(struct audit *audit, const struct fit_job *job, struct err *err);
void fits_tell_started(const struct fit_job *job);
void fits_tell_ended(struct audit *audit, const struct fit_job *job);

#endif
