/* Reads counts from the headers of live recordings. */
#include "monitor/made.h"

#include "format/wire.h"
#include "record/descriptor.h"
#include "record/put.h"
#include "record/recorder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILES_MOST 1000

static void add(struct sb_made_so_far *to, const uint64_t *made)
{
	/* frames are counted where they leave the pipeline, else by the blocks they are made in */
	to->frames += made[SB_MADE_FRAMES] ? made[SB_MADE_FRAMES] : made[SB_MADE_BLOCK_FRAMES];
	to->blocks += made[SB_MADE_BLOCKS];
	to->steps += made[SB_MADE_STEPS];
}

static void add_file(struct sb_made_so_far *to, const char *folder, const char *name)
{
	struct sb_descriptor file;
	struct sb_file_header head;
	char path[1400];

	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path ||
		!sb_descriptor_open(&file, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0))
		return;
	if (pread(file.number, &head, sizeof head, 0) == (ssize_t)sizeof head &&
		!memcmp(head.magic, SB_MAGIC, sizeof head.magic))
		add(to, head.made);
	sb_descriptor_close(&file);
}

void sb_made_read(const char *folder, struct sb_made_so_far *out_made)
{
	struct sb_made_so_far made = { 0 };
	struct sb_descriptor at;
	struct dirent *entry;
	DIR *d = folder ? sb_descriptor_opendir(&at, folder) : NULL;
	int left = FILES_MOST;

	if (!folder && sb_session_active())
		add(&made, sb_header()->made);
	while (d && left && (entry = readdir(d))) {
		size_t size = strlen(entry->d_name);

		if (size > 11 && !strncmp(entry->d_name, "run.", 4) &&
			!strcmp(entry->d_name + size - 7, ".strobe")) {
			add_file(&made, folder, entry->d_name);
			left--;
		}
	}
	if (d)
		sb_descriptor_closedir(&at, d);
	*out_made = made;
}

static void put_rate(
	struct sb_buf *out, bool *any, uint64_t now, uint64_t before, double seconds, const char *unit)
{
	if (!now)
		return;
	sb_buf_printf(out, "%s%.1f %s", *any ? ", " : "", now > before ? (double)(now - before) / seconds : 0,
		unit);
	*any = true;
}

static void put_count(struct sb_buf *out, bool *any, uint64_t count, const char *what)
{
	if (!count)
		return;
	sb_buf_printf(
		out, "%s%llu %s%s", *any ? ", " : "", (unsigned long long)count, what, count == 1 ? "" : "s");
	*any = true;
}

void sb_made_put(struct sb_buf *out, const struct sb_made_so_far *now, const struct sb_made_so_far *before,
	double seconds)
{
	bool any = false;

	if (!(seconds > 0) || (!now->frames && !now->blocks && !now->steps))
		return;
	sb_buf_puts(out, "Speed: ");
	put_rate(out, &any, now->frames, before->frames, seconds, "FPS");
	put_rate(out, &any, now->blocks, before->blocks, seconds, "BPS");
	put_rate(out, &any, now->steps, before->steps, seconds, "steps/s");
	sb_buf_puts(out, " (");
	any = false;
	put_count(out, &any, now->frames, "frame");
	put_count(out, &any, now->blocks, "block");
	put_count(out, &any, now->steps, "step");
	sb_buf_puts(out, ")\n");
}
