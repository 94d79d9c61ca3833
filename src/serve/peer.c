/* The kernel knows every TCP socket's owner: the peer's is the one whose ends
 * are ours the other way round. sock_diag answers for that one alone; where
 * there is none, /proc lists them all, which takes milliseconds when there are
 * thousands. */
#include "serve/peer.h"

#include "base/buf.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE_BYTES_MAX (8u << 20)
#define ESTABLISHED 0x01
#define CLOSE_WAIT 0x08 /* our side has sent its end; the peer's process still holds it */

bool sb_peer_is_local(const struct sockaddr *peer)
{
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)peer)->sin6_addr;

	if (peer->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)peer)->sin_addr.s_addr) >> 24 == 127;
	if (peer->sa_family != AF_INET6)
		return false;
	return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

/* As the table writes it: the address's words in this machine's order. */
static int put_end(char *out, size_t size, const struct sockaddr *at)
{
	uint32_t words[4];

	if (at->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;

		return snprintf(out, size, "%08X:%04X", v4->sin_addr.s_addr, ntohs(v4->sin_port));
	}
	memcpy(words, &((const struct sockaddr_in6 *)at)->sin6_addr, sizeof words);
	return snprintf(out, size, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3],
		ntohs(((const struct sockaddr_in6 *)at)->sin6_port));
}

/* Else its process may be gone, and the kernel then says 0, which is root. */
static bool has_process(unsigned state)
{
	return state == ESTABLISHED || state == CLOSE_WAIT;
}

bool sb_peer_find(const char *table, size_t size, const struct sockaddr *peer, const struct sockaddr *here,
	uid_t *out_uid)
{
	char ends[120];
	int used = snprintf(ends, sizeof ends, " ");
	const char *at;
	unsigned state, uid;

	used += put_end(ends + used, sizeof ends - (size_t)used, peer);
	used += snprintf(ends + used, sizeof ends - (size_t)used, " ");
	used += put_end(ends + used, sizeof ends - (size_t)used, here);
	used += snprintf(ends + used, sizeof ends - (size_t)used, " ");
	at = memmem(table, size, ends, (size_t)used);
	if (!at)
		return false;
	/* st tx_queue:rx_queue tr:tm->when retrnsmt uid */
	if (sscanf(at + used, "%x %*x:%*x %*x:%*x %*x %u", &state, &uid) != 2)
		return false;
	if (!has_process(state))
		return false;
	*out_uid = (uid_t)uid;
	return true;
}

static bool look_in(
	const char *path, const struct sockaddr *peer, const struct sockaddr *here, uid_t *out_uid)
{
	struct sb_buf table = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 1;
	bool found;

	if (fd < 0)
		return false;
	while (got > 0 && table.size < TABLE_BYTES_MAX && sb_buf_reserve(&table, 1u << 16)) {
		got = read(fd, table.data + table.size, 1u << 16);
		table.size += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (table.size)
		table.data[table.size - 1] = '\0'; /* ends with a newline */
	found = table.size && sb_peer_find(table.data, table.size, peer, here, out_uid);
	sb_buf_done(&table);
	return found;
}

/* ---- sock_diag ---- */

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 request;
};

static void put_address(const struct sockaddr *at, __be32 *out_address, __be16 *out_port)
{
	if (at->sa_family == AF_INET) {
		memcpy(out_address, &((const struct sockaddr_in *)at)->sin_addr, 4);
		*out_port = ((const struct sockaddr_in *)at)->sin_port;
	} else {
		memcpy(out_address, &((const struct sockaddr_in6 *)at)->sin6_addr, 16);
		*out_port = ((const struct sockaddr_in6 *)at)->sin6_port;
	}
}

static void put_question(const struct sockaddr *peer, const struct sockaddr *here, struct question *out)
{
	struct inet_diag_sockid *id = &out->request.id;

	memset(out, 0, sizeof *out);
	out->head.nlmsg_len = sizeof *out;
	out->head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	out->head.nlmsg_flags = NLM_F_REQUEST;
	out->request.sdiag_family = (__u8)peer->sa_family;
	out->request.sdiag_protocol = IPPROTO_TCP;
	out->request.idiag_states = ~0u;
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	put_address(peer, id->idiag_src, &id->idiag_sport);
	put_address(here, id->idiag_dst, &id->idiag_dport);
}

/* False: there is no such socket, or its owner is not known. */
static bool ask_kernel(
	const struct sockaddr *peer, const struct sockaddr *here, struct inet_diag_msg *out_answer)
{
	struct timeval limit = { .tv_sec = 1 };
	struct question question;
	char reply[1024];
	const struct nlmsghdr *head = (const struct nlmsghdr *)reply;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t got = -1;

	if (fd < 0)
		return false;
	put_question(peer, here, &question);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	if (send(fd, &question, sizeof question, 0) == (ssize_t)sizeof question)
		got = recv(fd, reply, sizeof reply, 0);
	close(fd);
	if (got < (ssize_t)NLMSG_LENGTH(sizeof *out_answer) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	memcpy(out_answer, NLMSG_DATA(head), sizeof *out_answer);
	return true;
}

bool sb_peer_uid(const struct sockaddr *peer, const struct sockaddr *here, uid_t *out_uid)
{
	struct inet_diag_msg answer;

	if (peer->sa_family != here->sa_family || !sb_peer_is_local(peer))
		return false;
	if (ask_kernel(peer, here, &answer)) {
		if (has_process(answer.idiag_state))
			*out_uid = answer.idiag_uid;
		return has_process(answer.idiag_state);
	}
	return look_in(peer->sa_family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp", peer, here, out_uid);
}
