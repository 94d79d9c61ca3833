/* The part of libcurl's binary interface that is used, in our own words; the library
 * is found at run time. Numbers are the library's. */
#ifndef SB_EXCHANGE_CURL_ABI_H
#define SB_EXCHANGE_CURL_ABI_H

#include <stddef.h>
#include <stdint.h>

enum curl_code {
	CURL_OK = 0,
	CURL_NO_HANDSHAKE = 35,
	CURL_ABORTED_BY_CALLBACK = 42,
	CURL_BAD_OWN_CERTIFICATE = 58,
	CURL_BAD_CERTIFICATE = 60,
	CURL_BAD_CA_FILE = 77
};

/* The thousands of an option's number say what it takes: 0 a long, 10 an object, 20 a function, 30 a 64-bit number. */
enum curl_option {
	CURL_NOPROGRESS = 43,
	CURL_POST = 47,
	CURL_VERIFY_PEER = 64,
	CURL_VERIFY_HOST = 81,
	CURL_NOSIGNAL = 99,
	CURL_PROTOCOLS = 181,
	CURL_WRITE_DATA = 10001,
	CURL_URL = 10002,
	CURL_ERROR_BUFFER = 10010,
	CURL_POST_FIELDS = 10015,
	CURL_HEADERS = 10023,
	CURL_PROGRESS_DATA = 10057,
	CURL_CA_FILE = 10065,
	CURL_WRITE_FUNCTION = 20011,
	CURL_PROGRESS_FUNCTION = 20219,
	CURL_POST_FIELDS_SIZE = 30120
};
enum { CURL_INFO_STATUS = 0x200002, CURL_GLOBAL_ALL = 3, CURL_PROTOCOL_HTTPS = 2, CURL_ERROR_BYTES = 256 };

typedef void curl_handle;
struct curl_list;

/* What the functions of a transfer are called with. */
typedef size_t curl_write(char *bytes, size_t one, size_t size, void *data);
typedef int curl_progress(void *data, int64_t to_get, int64_t got, int64_t to_send, int64_t sent);

struct curl_api {
	int (*global_init)(long flags);
	char *(*version)(void);
	curl_handle *(*init)(void);
	int (*set)(curl_handle *, int option, ...);
	int (*perform)(curl_handle *);
	int (*get)(curl_handle *, int info, ...);
	const char *(*words)(int code);
	void (*done)(curl_handle *);
	struct curl_list *(*append)(struct curl_list *, const char *line);
	void (*free_list)(struct curl_list *);
};

#endif
