/* What the worker does: lists runs, builds their reports, and keeps what
 * /metrics knows of the live ones. */
#ifndef SB_SERVE_TASKS_H
#define SB_SERVE_TASKS_H

#include "serve/worker.h"

/* Serves a server through SB_WORKER_FD until that ends. */
int sb_tasks_serve(void);

#endif
