/* The live page, the run list and /metrics over HTTP. */
#ifndef SB_SERVE_SERVER_H
#define SB_SERVE_SERVER_H

#include "serve/guard.h"

#include <stdint.h>

struct sb_server_options {
	const char *target; /* a run, or a folder of runs */
	const char *address; /* NULL: 127.0.0.1 */
	uint16_t port; /* 0: any free one */
	struct sb_guard guard; /* texts must outlive the server */
	/* Takes a line that the operator should see, a few a minute at the most. May be NULL. */
	void (*log)(const char *line);
};

struct sb_server;

/* Binds the port and starts the worker; an address beyond loopback without a token is refused. */
int sb_server_open(const struct sb_server_options *options, struct sb_server **out_server);
uint16_t sb_server_port(const struct sb_server *s); /* the one that is bound */
/* Serves until SIGINT or SIGTERM. */
int sb_server_run(struct sb_server *s);
void sb_server_close(struct sb_server *s); /* takes NULL */

#endif
