/* Whose process is at the other end. */
#include "serve/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct sockaddr_in v4(const char *address, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

static void the_peers_line_names_its_user(void **state)
{
	struct sockaddr_in peer = v4("127.0.0.1", 40000), here = v4("127.0.0.1", 8077);
	uint32_t loopback = htonl(INADDR_LOOPBACK);
	char table[800];
	uid_t uid = 7;

	/* our own end comes first: it must not be taken for the peer's */
	snprintf(table, sizeof table,
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
		"inode\n"
		"   0: %08X:1F8D %08X:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 1 1\n"
		"   1: %08X:9C40 %08X:1F8D 01 00000000:00000000 00:00000000 00000000  1234        0 2 1\n",
		loopback, loopback, loopback, loopback);
	assert_true(
		sb_peer_find(table, strlen(table), (struct sockaddr *)&peer, (struct sockaddr *)&here, &uid));
	assert_int_equal(uid, 1234);
	peer = v4("127.0.0.1", 40001);
	assert_false(
		sb_peer_find(table, strlen(table), (struct sockaddr *)&peer, (struct sockaddr *)&here, &uid));
}

/* The kernel says 0, root, for a socket whose process has let it go. */
static void a_socket_without_a_process_is_nobodys(void **state)
{
	struct sockaddr_in peer = v4("127.0.0.1", 40000), here = v4("127.0.0.1", 8077);
	uint32_t loopback = htonl(INADDR_LOOPBACK);
	char table[400];
	uid_t uid = 7;

	snprintf(table, sizeof table,
		"   1: %08X:9C40 %08X:1F8D 05 00000000:00000000 00:00000000 00000000     0        0 2 1\n",
		loopback, loopback);
	assert_false(
		sb_peer_find(table, strlen(table), (struct sockaddr *)&peer, (struct sockaddr *)&here, &uid));
	assert_int_equal(uid, 7);
}

static void check_real(int family, const char *address)
{
	struct sockaddr_storage at = { .ss_family = (sa_family_t)family }, peer, here;
	socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	int listener = socket(family, SOCK_STREAM, 0), client = socket(family, SOCK_STREAM, 0), fd;
	uid_t uid = (uid_t)-1;

	if (family == AF_INET)
		inet_pton(family, address, &((struct sockaddr_in *)&at)->sin_addr);
	else
		inet_pton(family, address, &((struct sockaddr_in6 *)&at)->sin6_addr);
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, size))
		return; /* no IPv6 here */
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&at, size), 0);
	fd = accept(listener, (struct sockaddr *)&peer, &size);
	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &size), 0);
	if (!access("/proc/net/tcp", R_OK)) {
		assert_true(sb_peer_uid((struct sockaddr *)&peer, (struct sockaddr *)&here, &uid));
		assert_int_equal(uid, geteuid());
	}
	close(client);
	assert_false(sb_peer_uid((struct sockaddr *)&peer, (struct sockaddr *)&here, &uid));
	close(fd);
	close(listener);
}

static void a_real_connection_is_its_users(void **state)
{
	check_real(AF_INET, "127.0.0.1");
	check_real(AF_INET6, "::1");
}

static void other_machines_are_not_local(void **state)
{
	struct sockaddr_in a = v4("10.0.0.1", 1), b = v4("127.9.9.9", 1);

	assert_false(sb_peer_is_local((struct sockaddr *)&a));
	assert_true(sb_peer_is_local((struct sockaddr *)&b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peers_line_names_its_user),
		cmocka_unit_test(a_socket_without_a_process_is_nobodys),
		cmocka_unit_test(a_real_connection_is_its_users),
		cmocka_unit_test(other_machines_are_not_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
