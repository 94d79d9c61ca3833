/* The address of a warehouse, and one that does not answer: given up within the budget, tries included.
 * Time is the test's own: waiting moves it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "exchange/warehouse.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_s = 1000;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, t);
	t->tv_sec = (time_t)now_s;
	t->tv_nsec = (long)((now_s - (double)t->tv_sec) * 1e9);
	return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	now_s += (double)wanted->tv_sec + (double)wanted->tv_nsec * 1e-9;
	return 0;
}

/* Writing goes on for real; an answer never comes. */
static int wait_in_vain(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec t = { 1, 0 };

	if (!(fds->events & POLLIN))
		return (int)syscall(SYS_ppoll, fds, count, &t, NULL, 0);
	now_s += timeout_ms * 1e-3;
	return 0;
}
int poll(struct pollfd *, nfds_t, int) __attribute__((alias("wait_in_vain")));

static int listen_silently(char *out_url, size_t size)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	snprintf(out_url, size, "clickhouse://127.0.0.1:%d/strobe", ntohs(address.sin_port));
	return fd;
}

static void a_silent_server_is_given_up_within_the_budget(void **state)
{
	struct sb_warehouse w;
	char url[64];
	int fd = listen_silently(url, sizeof url);
	double begun_s = now_s;

	assert_int_equal(sb_warehouse_open(url, &w), 0);
	w.retry_s = 2;
	assert_int_equal(sb_warehouse_prepare(&w), STROBE_EIO);
	assert_non_null(strstr(sb_error_message(), "timed out"));
	assert_true(now_s - begun_s < 4);
	close(fd);
}

static void a_server_that_is_away_is_tried_again_within_the_budget(void **state)
{
	struct sb_warehouse w;
	char url[64];
	uint64_t retries = 0;
	double begun_s = now_s;

	close(listen_silently(url, sizeof url));
	assert_int_equal(sb_warehouse_open(url, &w), 0);
	w.retry_s = 2;
	assert_int_equal(sb_warehouse_query(&w, "SELECT 1", "", 0, NULL, &retries), STROBE_EIO);
	assert_true(retries >= 3);
	assert_true(now_s - begun_s <= 2);
}

static void an_address_without_a_port_after_its_colon_is_refused(void **state)
{
	static const char *const wrong[] = { "clickhouse://host:/strobe", "clickhouse://host:http/strobe",
		"https://host:8443x/strobe", "clickhouse://[::1/strobe", "clickhouse://[]:8123/strobe",
		"clickhouse://[::1]8123/strobe", "clickhouse://::1:8123/strobe" };
	struct sb_warehouse w;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		assert_int_equal(sb_warehouse_open(wrong[i], &w), STROBE_EINVAL);
		assert_non_null(strstr(sb_error_message(), "HOST:PORT"));
	}
	assert_int_equal(sb_warehouse_open("https://host/strobe", &w), 0);
	assert_string_equal(w.port, "8443");
}

static void an_address_of_ipv6_stands_in_brackets(void **state)
{
	struct sb_warehouse w;
	uint64_t retries = 0;

	assert_int_equal(sb_warehouse_open("https://[fe80::1]/strobe", &w), 0);
	assert_string_equal(w.host, "[fe80::1]");
	assert_string_equal(w.port, "8443");
	assert_int_equal(sb_warehouse_open("clickhouse://[::1]:1/strobe", &w), 0);
	assert_string_equal(w.port, "1");
	w.retry_s = 0;
	assert_int_equal(sb_warehouse_query(&w, "SELECT 1", "", 0, NULL, &retries), STROBE_EIO);
	assert_non_null(strstr(sb_error_message(), "[::1]:1: cannot connect"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_without_a_port_after_its_colon_is_refused),
		cmocka_unit_test(an_address_of_ipv6_stands_in_brackets),
		cmocka_unit_test(a_silent_server_is_given_up_within_the_budget),
		cmocka_unit_test(a_server_that_is_away_is_tried_again_within_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
