/* Names and their ids, for the life of the process. Lock-free: an insert is one
 * compare-and-swap into an open-addressed table; bytes are copied, so a library
 * that goes away takes no name with it. */
#include "record/put.h"
#include "record/recorder.h"
#include "strobe.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { SLOTS = 1 << 18, NAME_MAX_BYTES = 1024, SLAB_BYTES = 256 * 1024 };

struct name {
	uint32_t hash;
	uint16_t name_bytes;
	uint16_t code_bytes;
	char text[]; /* name, code */
};

/* Where bytes go; full slabs are simply left behind. */
struct slab {
	_Atomic uint64_t used;
};

/* Shared by all instances, like the recorder: ids must mean the same everywhere. */
struct sb_name_table {
	_Atomic uint32_t slots[SLOTS]; /* id; 0: empty */
	struct name *_Atomic entries[SB_NAME_COUNT_MAX];
	_Atomic uint32_t count; /* ids given out, the fixed ones included */
	struct slab *_Atomic slab;
};
static struct sb_name_table own_names;
struct sb_name_table *sb_names_used = &own_names;
#define NAMES sb_names_used

static const char *const fixed_names[] = { NULL,
#define TEXT(sym, text) text,
	SB_FIXED_NAMES(TEXT)
#undef TEXT
};

/* Eight bytes at a time, as names are short and looked up on every dynamic zone. */
static uint32_t hash_bytes(uint64_t h, const char *s, size_t size)
{
	while (size >= 8) {
		uint64_t v;

		memcpy(&v, s, 8);
		h = (h ^ v) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
		s += 8;
		size -= 8;
	}
	if (size) {
		uint64_t v = 0;

		memcpy(&v, s, size);
		h = (h ^ v ^ (uint64_t)size << 56) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return (uint32_t)(h ^ h >> 32);
}

static struct name *allocate(size_t bytes)
{
	bytes = (bytes + 7) & ~(size_t)7;
	for (;;) {
		struct slab *slab = atomic_load(&NAMES->slab);
		uint64_t used = slab ? atomic_fetch_add(&slab->used, bytes) : SLAB_BYTES;
		struct slab *fresh;

		if (used + bytes <= SLAB_BYTES)
			return (struct name *)((char *)slab + used);
		fresh = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fresh == MAP_FAILED)
			return NULL;
		atomic_store(&fresh->used, sizeof *fresh);
		if (!atomic_compare_exchange_strong(&NAMES->slab, &slab, fresh))
			munmap(fresh, SLAB_BYTES); /* another thread was first */
	}
}

static uint32_t insert(uint32_t slot, uint32_t hash, const char *name, size_t name_bytes, const char *code,
	size_t code_bytes)
{
	uint32_t id = atomic_load(&NAMES->count), empty = 0;
	struct name *n;

	if (id >= SB_NAME_COUNT_MAX - 1)
		return SB_NAME_OTHER;
	n = allocate(sizeof *n + name_bytes + code_bytes);
	if (!n)
		return SB_NAME_OTHER;
	n->hash = hash;
	n->name_bytes = (uint16_t)name_bytes;
	n->code_bytes = (uint16_t)code_bytes;
	memcpy(n->text, name, name_bytes);
	memcpy(n->text + name_bytes, code, code_bytes);
	id = atomic_fetch_add(&NAMES->count, 1);
	if (id >= SB_NAME_COUNT_MAX) {
		atomic_store(&NAMES->count, SB_NAME_COUNT_MAX);
		return SB_NAME_OTHER;
	}
	atomic_store_explicit(&NAMES->entries[id], n, memory_order_release);
	if (!atomic_compare_exchange_strong_explicit(
		    &NAMES->slots[slot], &empty, id, memory_order_release, memory_order_acquire))
		return 0; /* another thread took the slot: look again; this id stays unused */
	return id;
}

static bool same(const struct name *n, uint32_t hash, const char *name, size_t name_bytes, const char *code,
	size_t code_bytes)
{
	return n && n->hash == hash && n->name_bytes == name_bytes && n->code_bytes == code_bytes &&
	       !memcmp(n->text, name, name_bytes) && !memcmp(n->text + name_bytes, code, code_bytes);
}

static uint32_t find_or_insert(
	const char *name, size_t name_bytes, const char *code, size_t code_bytes, bool *out_new)
{
	uint32_t hash = hash_bytes(hash_bytes(0, name, name_bytes) + code_bytes, code, code_bytes);

	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t slot = (hash + i) & (SLOTS - 1);
		uint32_t id = atomic_load_explicit(&NAMES->slots[slot], memory_order_acquire);

		if (!id) {
			id = insert(slot, hash, name, name_bytes, code, code_bytes);
			if (id) {
				*out_new = id != SB_NAME_OTHER;
				return id;
			}
			id = atomic_load_explicit(&NAMES->slots[slot], memory_order_acquire);
		}
		if (same(atomic_load_explicit(&NAMES->entries[id], memory_order_acquire), hash, name,
			    name_bytes, code, code_bytes))
			return id;
	}
	return SB_NAME_OTHER;
}

void sb_names_init(void)
{
	uint32_t none = 0;

	if (!atomic_compare_exchange_strong(&NAMES->count, &none, SB_NAME_FIXED))
		return;
	for (uint32_t id = 1; id < SB_NAME_FIXED_END; id++) {
		size_t size = strlen(fixed_names[id]);
		uint32_t hash = hash_bytes(hash_bytes(0, fixed_names[id], size), "", 0);
		struct name *n = allocate(sizeof *n + size);
		uint32_t slot = hash & (SLOTS - 1);

		if (!n)
			return;
		n->hash = hash;
		n->name_bytes = (uint16_t)size;
		n->code_bytes = 0;
		memcpy(n->text, fixed_names[id], size);
		atomic_store(&NAMES->entries[id], n);
		while (atomic_load(&NAMES->slots[slot]))
			slot = (slot + 1) & (SLOTS - 1);
		atomic_store(&NAMES->slots[slot], id);
	}
}

void sb_name_text(uint32_t id, char *out_name, size_t name_size, char *out_code, size_t code_size)
{
	const struct name *n = id < SB_NAME_COUNT_MAX
				       ? atomic_load_explicit(&NAMES->entries[id], memory_order_acquire)
				       : NULL;

	snprintf(out_name, name_size, "%.*s", n ? (int)n->name_bytes : 0, n ? n->text : "");
	snprintf(out_code, code_size, "%.*s", n ? (int)n->code_bytes : 0, n ? n->text + n->name_bytes : "");
}

static void name_write(uint32_t id)
{
	const struct name *n = atomic_load_explicit(&NAMES->entries[id], memory_order_acquire);
	uint64_t payload[1 + (2 * NAME_MAX_BYTES) / 8 + 1] = { 0 };
	size_t bytes;

	if (!n)
		return;
	bytes = (size_t)n->name_bytes + n->code_bytes;
	payload[0] = n->name_bytes | (uint64_t)n->code_bytes << 32;
	memcpy(payload + 1, n->text, bytes);
	sb_put(SB_STREAM_KEEP, SB_NAME, id, payload, 1 + (uint32_t)((bytes + 7) / 8));
}

void sb_names_write_all(void)
{
	uint32_t count = atomic_load(&NAMES->count);

	for (uint32_t id = SB_NAME_FIXED; id < count && id < SB_NAME_COUNT_MAX; id++)
		name_write(id);
}

uint32_t sb_name_intern(const char *name, const char *code)
{
	size_t name_bytes, code_bytes;
	bool is_new = false;
	uint32_t id;

	if (!name)
		name = "(null)";
	if (!code)
		code = "";
	name_bytes = strlen(name);
	code_bytes = strlen(code);
	if (name_bytes > NAME_MAX_BYTES || code_bytes > 64) {
		name_bytes = name_bytes > NAME_MAX_BYTES ? NAME_MAX_BYTES : name_bytes;
		code_bytes = code_bytes > 64 ? 64 : code_bytes;
		sb_lost(SB_LOST_STRING, 1);
	}
	if (!atomic_load_explicit(&NAMES->count, memory_order_relaxed))
		sb_names_init();
	id = find_or_insert(name, name_bytes, code, code_bytes, &is_new);
	if (is_new && sb_session_active())
		name_write(id);
	if (id == SB_NAME_OTHER && strcmp(name, "(other)"))
		sb_lost(SB_LOST_NAMES_FULL, 1);
	return id;
}

uint32_t strobe_name(const char *name, const char *code)
{
	return name ? sb_name_intern(name, code) : 0;
}
