/* libFuzzer on what the page of a job holds: chance alone breaks the first length. This changes one thing that means
 * something: a name, a size, a recording, which recordings there are and in what order. */
#include "exchange/share.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 64u
#define MAGIC_BYTES (sizeof SB_SHARE_JOB_MAGIC - 1)

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

struct part { /* where it lies in the bytes */
	size_t at, name_bytes, body_at, body_bytes, end;
};

struct job {
	uint8_t *data;
	size_t size, most;
	struct part parts[PARTS_MAX];
	size_t count;
	uint64_t random;
};

static uint64_t below(struct job *j, uint64_t limit)
{
	j->random ^= j->random << 13;
	j->random ^= j->random >> 7;
	j->random ^= j->random << 17;
	return limit ? j->random % limit : 0;
}

static int read_number(const struct job *j, size_t at, size_t *out)
{
	uint64_t number;

	if (at + sizeof number > j->size)
		return 0;
	memcpy(&number, j->data + at, sizeof number);
	*out = (size_t)number;
	return number <= j->size - at - sizeof number;
}

static void find_parts(struct job *j)
{
	size_t at = 1 + MAGIC_BYTES;

	while (j->count < PARTS_MAX) {
		struct part *p = &j->parts[j->count];

		p->at = at;
		if (!read_number(j, at, &p->name_bytes) ||
			!read_number(j, at + 8 + p->name_bytes, &p->body_bytes))
			return;
		p->body_at = at + 16 + p->name_bytes;
		p->end = at = p->body_at + p->body_bytes;
		j->count++;
	}
}

/* Puts bytes in the place of others; unchanged where there is no room. */
static void replace(struct job *j, size_t at, size_t old, const void *bytes, size_t size)
{
	if (j->size - old + size > j->most)
		return;
	memmove(j->data + at + size, j->data + at + old, j->size - at - old);
	memcpy(j->data + at, bytes, size);
	j->size = j->size - old + size;
}

static void change_name(struct job *j, const struct part *p)
{
	static const char *const names[] = { "run.strobe", "run.1.strobe", "run.workers.strobe",
		"rank_0/run.strobe", "rank_00/run.strobe", "rank_99999999999/run.strobe",
		"rank_1/run.2.strobe", "../run.strobe", "/run.strobe", "rank_1/../run.strobe",
		"rank_1//run.strobe", "rank_/run.strobe", "run..strobe", "run.strobe/", "rank_1/",
		"rank_1/run.strobe/run.strobe", "run.strobe.spool", "launch.txt", "", ".", "rank_2" };
	const char *name = names[below(j, sizeof names / sizeof names[0])];
	uint64_t size = strlen(name);

	replace(j, p->at + 8, p->name_bytes, name, size);
	memcpy(j->data + p->at, &size, sizeof size);
}

static void change_size(struct job *j, const struct part *p)
{
	static const uint64_t sizes[] = { 0, 1, 200, 201, 1u << 20, UINT64_C(1) << 32, INT64_MAX,
		UINT64_MAX };
	uint64_t size = below(j, 2) ? sizes[below(j, sizeof sizes / sizeof sizes[0])]
				    : below(j, 2 * p->body_bytes + 2);

	memcpy(j->data + (below(j, 3) ? p->body_at - 8 : p->at), &size, sizeof size);
}

static void change_body(struct job *j, const struct part *p)
{
	size_t most = p->body_bytes + (j->most - j->size);
	uint8_t *body = malloc(most + 1);
	uint64_t size;

	if (!body)
		return;
	memcpy(body, j->data + p->body_at, p->body_bytes);
	size = LLVMFuzzerMutate(body, p->body_bytes, most);
	replace(j, p->body_at, p->body_bytes, body, size);
	if (p->body_at <= j->size)
		memcpy(j->data + p->body_at - 8, &size, sizeof size);
	free(body);
}

static void copy_part(struct job *j, const struct part *p)
{
	const struct part *to = &j->parts[below(j, j->count)];
	uint8_t *bytes = malloc(p->end - p->at);

	if (bytes) {
		memcpy(bytes, j->data + p->at, p->end - p->at);
		replace(j, to->at, 0, bytes, p->end - p->at);
	}
	free(bytes);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	struct job j = {
		.data = data, .size = size, .most = most, .random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1
	};
	const struct part *p;

	if (size > MAGIC_BYTES && !memcmp(data + 1, SB_SHARE_JOB_MAGIC, MAGIC_BYTES))
		find_parts(&j);
	if (!j.count || !below(&j, 8))
		return LLVMFuzzerMutate(data, size, most);
	p = &j.parts[below(&j, j.count)];
	switch (below(&j, 7)) {
	case 0:
	case 1: change_name(&j, p); break;
	case 2: change_size(&j, p); break;
	case 3: copy_part(&j, p); break;
	case 4: replace(&j, p->at, p->end - p->at, "", 0); break;
	case 5: data[0] = (uint8_t)below(&j, 256); break; /* what the rest is */
	default: change_body(&j, p);
	}
	return j.size;
}
