/* log_observer.h - the events "request" and "prediction" at level debug. Threads: any. */
#ifndef ATTND_SERVER_OBSERVE_LOG_OBSERVER_H
#define ATTND_SERVER_OBSERVE_LOG_OBSERVER_H

#include "server/observe/record.h"

struct observer log_observer(void);

#endif
