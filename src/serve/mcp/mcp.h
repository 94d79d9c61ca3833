/* A Model Context Protocol server over the runs of one folder: JSON-RPC 2.0, a message a line.
 * Read-only. Runs are named by their ids, which are only ever compared with what was found. */
#ifndef SB_SERVE_MCP_MCP_H
#define SB_SERVE_MCP_MCP_H

#include "base/buf.h"

#include <stddef.h>

#define SB_MCP_MESSAGE_MAX (1u << 20) /* bytes of a request */
#define SB_MCP_ANSWER_MAX (48u << 10) /* bytes of a tool's answer, before it is quoted */

struct sb_mcp;

/* root: a folder of runs, a job's folder, or one run. */
int sb_mcp_open(const char *root, struct sb_mcp **out_mcp);
void sb_mcp_close(struct sb_mcp *m); /* takes NULL */

/* Writes the answer to one message, a line; nothing for a notification. No message makes it fail:
 * out->failed is set only if memory runs out. */
void sb_mcp_answer(struct sb_mcp *m, const char *message, size_t size, struct sb_buf *out);
/* Writes the answer to a message longer than SB_MCP_MESSAGE_MAX. */
void sb_mcp_answer_too_long(struct sb_buf *out);

#endif
