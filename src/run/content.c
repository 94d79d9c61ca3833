/* Reads files once from end to end; nothing of them is kept but a number. */
#include "run/content.h"

#include "base/error.h"
#include "base/whole_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MOST 100000

/* ---- SHA-256 (FIPS 180-4) ------------------------------------------------------ */

struct sha256 {
	uint32_t state[8];
	uint64_t size;
	uint8_t block[64];
};

static const uint32_t rounds[64] = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb,
	0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
	0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb,
	0xbef9a3f7, 0xc67178f2 };

static uint32_t turn(uint32_t v, int by)
{
	return v >> by | v << (32 - by);
}

static void schedule(const uint8_t *block, uint32_t *w)
{
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
}

static void mix(struct sha256 *h, const uint8_t *block)
{
	uint32_t w[64], s[8];

	schedule(block, w);
	memcpy(s, h->state, sizeof s);
	for (int i = 0; i < 64; i++) {
		uint32_t a = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
			     ((s[4] & s[5]) ^ (~s[4] & s[6])) + rounds[i] + w[i];
		uint32_t b = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
			     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += a;
		s[0] = a + b;
	}
	for (int i = 0; i < 8; i++)
		h->state[i] += s[i];
}

static void begin(struct sha256 *h)
{
	*h = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
				      0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

static void add(struct sha256 *h, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	while (size) {
		size_t used = h->size % 64, part = 64 - used < size ? 64 - used : size;

		memcpy(h->block + used, from, part);
		h->size += part;
		from += part;
		size -= part;
		if (used + part == 64)
			mix(h, h->block);
	}
}

static void end(struct sha256 *h, char out_hex[65])
{
	uint64_t bits = 8 * h->size;
	uint8_t tail[8];

	add(h, "\x80", 1);
	while (h->size % 64 != 56)
		add(h, "", 1);
	for (int i = 0; i < 8; i++)
		tail[i] = (uint8_t)(bits >> (56 - 8 * i));
	add(h, tail, 8);
	for (int i = 0; i < 8; i++)
		snprintf(out_hex + 8 * i, 9, "%08x", h->state[i]);
}

void sb_content_sha256(const void *bytes, uint64_t size, char out_hex[65])
{
	struct sha256 h;

	begin(&h);
	add(&h, bytes, size);
	end(&h, out_hex);
}

/* ---- files --------------------------------------------------------------------- */

static uint64_t modified_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static int hash_file(const char *path, char out_hex[65])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	struct sha256 h;
	char part[65536];
	ssize_t size;

	if (fd < 0)
		return sb_fail_errno("cannot read '%s'", path);
	begin(&h);
	while ((size = read(fd, part, sizeof part)) > 0 || (size < 0 && errno == EINTR))
		if (size > 0)
			add(&h, part, (size_t)size);
	if (size < 0)
		err = sb_fail_errno("cannot read '%s'", path);
	close(fd);
	if (!err)
		end(&h, out_hex);
	return err;
}

static int no_dots(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The files directly in a folder, in the order of their names; h NULL: sizes and times alone. */
static int read_folder(const char *path, uint64_t most_bytes, struct sha256 *h, struct sb_content *c)
{
	struct dirent **all = NULL;
	int count = scandir(path, &all, no_dots, versionsort), err = 0;

	if (count < 0)
		return sb_fail_errno("cannot read '%s'", path);
	for (int i = 0; i < count; i++) {
		char file[4096], hex[65];
		struct stat st;

		if (!err && i < FILES_MOST &&
			(size_t)snprintf(file, sizeof file, "%s/%s", path, all[i]->d_name) < sizeof file &&
			!stat(file, &st) && S_ISREG(st.st_mode)) {
			c->bytes += (uint64_t)st.st_size;
			c->modified_real_ns = modified_ns(&st) > c->modified_real_ns ? modified_ns(&st)
										     : c->modified_real_ns;
			if (h && c->bytes <= most_bytes && !(err = hash_file(file, hex))) {
				add(h, all[i]->d_name, strlen(all[i]->d_name) + 1);
				add(h, hex, 64);
			}
		}
		free(all[i]);
	}
	free(all);
	return err;
}

int sb_content_look(const char *path, struct sb_content *out_content)
{
	struct sb_content c = { 0 };
	struct stat st;
	int err = 0;

	if (stat(path, &st))
		return sb_fail_errno("cannot read '%s'", path);
	c.folder = S_ISDIR(st.st_mode);
	if (!c.folder && !S_ISREG(st.st_mode))
		return sb_fail(STROBE_EINVAL, "'%s' is not a file", path);
	if (c.folder) {
		err = read_folder(path, 0, NULL, &c);
	} else {
		c.bytes = (uint64_t)st.st_size;
		c.modified_real_ns = modified_ns(&st);
	}
	if (!err)
		*out_content = c;
	return err;
}

int sb_content_read(const char *path, uint64_t most_bytes, struct sb_content *out_content)
{
	struct sb_content c, again = { .folder = true };
	struct sha256 h;
	int err = sb_content_look(path, &c);

	if (!err && c.bytes <= most_bytes && c.folder) {
		begin(&h);
		err = read_folder(path, most_bytes, &h, &again);
		if (!err)
			end(&h, c.sha256);
	} else if (!err && c.bytes <= most_bytes) {
		err = hash_file(path, c.sha256);
	}
	if (!err)
		*out_content = c;
	return err;
}

static int copy_bytes(int from, int to)
{
	char part[65536];
	ssize_t size;

	if (!ioctl(to, FICLONE, from))
		return 0;
	while ((size = read(from, part, sizeof part)) > 0)
		if (!sb_write_whole(to, part, (size_t)size))
			return -1;
	return size < 0 ? -1 : 0;
}

int sb_content_copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out, err = 0;

	if (in < 0)
		return sb_fail_errno("cannot read '%s'", from);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0 || copy_bytes(in, out)) {
		err = sb_fail_errno("cannot copy '%s' to '%s'", from, to);
		if (out >= 0)
			unlink(to);
	}
	if (out >= 0)
		close(out);
	close(in);
	return err;
}
