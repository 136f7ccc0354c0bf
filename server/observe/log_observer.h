/* log_observer.h - the event "request" at level debug, one line a request. Threads: any. */
#ifndef ATTND_SERVER_OBSERVE_LOG_OBSERVER_H
#define ATTND_SERVER_OBSERVE_LOG_OBSERVER_H

#include "server/observe/record.h"

struct observer log_observer(void);

#endif
