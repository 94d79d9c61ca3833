/* The server's state: only src/serve/mcp includes it. */
#ifndef SB_SERVE_MCP_STATE_H
#define SB_SERVE_MCP_STATE_H

#include "serve/listing.h"
#include "serve/mcp/tool.h"

struct sb_mcp {
	char *root;
	struct sb_listing listing; /* as of the last look */
	/* the model asked for last: a run that has ended does not change */
	char *kept_id;
	uint64_t kept_bytes, kept_start_ns;
	struct sb_model *kept;
};

/* Looks at the folder again and finds the run with this id. *out_run is valid until the next call. */
int sb_mcp_find(struct sb_mcp *m, const char *id, const struct sb_listed **out_run);

#endif
