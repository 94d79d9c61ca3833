/* Who is at the other end of a connection on this machine. */
#ifndef SB_SERVE_PEER_H
#define SB_SERVE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* True if the peer's address is this machine's loopback. */
bool sb_peer_is_local(const struct sockaddr *peer);
/* The user whose process holds the peer's socket, from sock_diag or /proc/net/tcp[6];
 * false: not known (another machine, a socket its process has closed). */
bool sb_peer_uid(const struct sockaddr *peer, const struct sockaddr *here, uid_t *out_uid);
/* The same from the text of such a table. */
bool sb_peer_find(const char *table, size_t size, const struct sockaddr *peer, const struct sockaddr *here,
	uid_t *out_uid);

#endif
