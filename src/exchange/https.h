/* The same request as in http.h, through TLS: libcurl, where the machine has it. */
#ifndef SB_EXCHANGE_HTTPS_H
#define SB_EXCHANGE_HTTPS_H

#include "exchange/http.h"

/* The library's own name and version; NULL where there is none, with the reason as the error message. */
const char *sb_https_find(void);

/* As sb_http_post. The server's certificate is checked, against ca_path or, where that is NULL or "", against the
 * authorities of the machine: STROBE_EPERM when it is not accepted. STROBE_EINVAL where a server speaks plain HTTP,
 * STROBE_ENOTSUP without libcurl. */
int sb_https_post(const struct sb_http_request *request, const char *ca_path, double timeout_s,
	int *out_status, struct sb_buf *out_body);

#endif
