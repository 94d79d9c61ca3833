/* A packaged tracer measured in the same run, where there is one. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

extern const char *const peer_name; /* NULL: none here */
void peer_zone(void); /* one begin and one end */

#endif
