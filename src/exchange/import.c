/* Picks the importer by the first bytes, and puts the result in place. */
#include "exchange/import.h"

#include "base/error.h"
#include "base/folder.h"
#include "base/newfile.h"
#include "base/extsort.h"
#include "exchange/trace_in.h"
#include "exchange/trace_store.h"
#include "format/run_keys.h"
#include "format/wire.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Text takes anything and comes last. */
static const struct sb_importer *const importers[] = { &sb_share_job_importer, &sb_share_importer,
	&sb_speedscope_importer, &sb_snapshot_importer, &sb_prof_importer, &sb_compared_importer,
	&sb_profile_importer, &sb_trace_importer, &sb_text_importer, NULL };

static const struct sb_importer *importer_of(struct sb_foreign *source, size_t *out_size)
{
	const char *bytes;

	*out_size = sb_foreign_peek(source, &bytes);
	for (const struct sb_importer *const *i = importers; *out_size && *i; i++)
		if ((*i)->matches(bytes, *out_size))
			return *i;
	return NULL;
}

/* "log.txt#2" is part 2 of log.txt, unless there is a file of that very name. 0: no part. */
static uint32_t split_part(const char *path, char *out_file, size_t size)
{
	const char *mark = strrchr(path, '#');
	char *end = NULL;
	unsigned long part = mark && isdigit((unsigned char)mark[1]) ? strtoul(mark + 1, &end, 10) : 0;
	bool parted = part && part < 1000000 && !*end && access(path, F_OK);

	snprintf(out_file, size, "%.*s", parted ? (int)(mark - path) : (int)strlen(path), path);
	return parted ? (uint32_t)part : 0;
}

uint32_t sb_import_run_count(const char *path)
{
	struct sb_foreign *source = NULL;
	struct stat st;
	uint32_t count = 1;
	size_t size;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || sb_foreign_open(path, &source))
		return 1;
	if (importer_of(source, &size) == &sb_text_importer)
		count = sb_text_run_count(source, path);
	sb_foreign_close(source);
	return count;
}

static int import_to(const char *path, const char *strobe_path, const struct sb_import_options *opts,
	struct sb_import_summary *summary)
{
	struct sb_import_options with_part = *opts;
	struct sb_foreign *source = NULL;
	const struct sb_importer *importer;
	char file[4096];
	size_t size;
	int err;

	with_part.part = split_part(path, file, sizeof file);
	err = sb_foreign_open(file, &source);
	if (err)
		return err;
	if (opts->progress)
		sb_foreign_on_progress(source, opts->progress, opts->progress_self);
	importer = importer_of(source, &size);
	if (!size)
		err = sb_fail(STROBE_EFORMAT, "'%s' is empty", file);
	else if (!importer)
		err = sb_fail(STROBE_EFORMAT,
			"'%s' byte 0: neither a JSON trace, a stage log, a cProfile file nor a memory "
			"snapshot",
			file);
	else if (with_part.part > 1 && importer != &sb_text_importer)
		err = sb_fail(STROBE_EINVAL, "'%s' holds one run only", file);
	else if (opts->stages_of && (importer != &sb_snapshot_importer || !strcmp(file, "-")))
		err = sb_fail(STROBE_EINVAL,
			"'%s': stages of another run are for a file with a memory snapshot", file);
	if (!err) {
		summary->format = importer->format;
		err = importer->import(source, file, strobe_path, &with_part, summary);
	}
	sb_foreign_close(source);
	return err;
}

/* A new file, never what a link of that name points to. */
static int make_temporary(const char *path)
{
	int fd = sb_folder_create(AT_FDCWD, path, 0600);

	if (fd < 0)
		return sb_fail_errno("cannot write '%s'", path);
	close(fd);
	return 0;
}

int sb_import_file(const char *path, const char *strobe_path, const struct sb_import_options *opts,
	struct sb_import_summary *out_summary)
{
	static const struct sb_import_options defaults;
	struct sb_import_summary summary = { 0 };
	char temporary[4096];
	int err;

	if ((size_t)snprintf(temporary, sizeof temporary, "%s.tmp%ld", strobe_path, (long)getpid()) >=
		sizeof temporary)
		return sb_fail(STROBE_EINVAL, "'%s': the name is too long", strobe_path);
	err = make_temporary(temporary);
	if (err)
		return err;
	err = import_to(path, temporary, opts ? opts : &defaults, &summary);
	if (err)
		unlink(temporary);
	else
		err = sb_newfile_move(temporary, strobe_path);
	if (!err && out_summary)
		*out_summary = summary;
	return err;
}

uint64_t sb_import_start_real_ns(const char *path, int64_t whole_ns)
{
	struct stat st;
	struct timespec end;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		clock_gettime(CLOCK_REALTIME, &end);
	else
		end = st.st_mtim;
	if (end.tv_sec <= whole_ns / 1000000000)
		return 0;
	return (uint64_t)end.tv_sec * 1000000000u + (uint64_t)end.tv_nsec - (uint64_t)whole_ns;
}

void sb_import_note_file_date(struct sb_builder *builder)
{
	sb_builder_meta(builder, SB_META_RUN,
		&(struct strobe_attr){ .key = SB_RUN_FILE_DATE, .type = STROBE_TYPE_INT, .value.i = 1 });
}

bool sb_import_is_candidate(const char *path)
{
	char magic[8] = "";
	struct stat st;
	int fd;
	bool is_file;
	ssize_t n;

	/* What a pipe brings can be read once only. */
	if (!strcmp(path, "-") || (!stat(path, &st) && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))))
		return true;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	is_file = fd >= 0 && !fstat(fd, &st) && !S_ISDIR(st.st_mode);
	n = is_file ? read(fd, magic, sizeof magic) : -1;

	if (fd >= 0)
		close(fd);
	return is_file && !(n == sizeof magic && !memcmp(magic, SB_MAGIC, sizeof magic));
}

int sb_import_on_the_fly(const char *path, const struct sb_import_options *opts, char *out_path, size_t size)
{
	const char *folder = opts && opts->temporary_folder ? opts->temporary_folder : sb_extsort_folder();
	char made[1024];
	int fd, err;

	snprintf(made, sizeof made, "%s/strobe-import-XXXXXX.strobe", folder);
	fd = mkstemps(made, 7);
	if (fd < 0)
		return sb_fail_errno("cannot make a temporary file in '%s'", folder);
	close(fd);
	err = strlen(made) < size ? sb_import_file(path, made, opts, NULL)
				  : sb_fail(STROBE_EINVAL, "'%s': the name is too long", folder);
	if (err)
		unlink(made);
	else
		strcpy(out_path, made);
	return err;
}

/* ---- traces ---- */

static bool looks_like_json(const char *bytes, size_t size)
{
	size_t i = size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;

	while (i < size && isspace((unsigned char)bytes[i]))
		i++;
	if (i == size || (bytes[i] != '{' && bytes[i] != '['))
		return false;
	/* "[3a] I/O" is a stage log, "[" alone the start of an array. */
	if (bytes[i] == '[' && i + 1 < size && isalnum((unsigned char)bytes[i + 1]))
		return false;
	return true;
}

static int import_trace(struct sb_foreign *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct sb_trace *t = NULL;
	int err = sb_trace_new(opts->temporary_folder, &t);

	if (!err)
		err = sb_trace_read(source, path, t);
	if (!err)
		err = sb_trace_write(t, strobe_path, path);
	if (!err) {
		out_summary->zones = t->counts.zones + t->counts.spans;
		out_summary->gpu = t->counts.gpu;
		out_summary->marks = t->counts.marks;
		out_summary->counters = t->counts.counters;
		snprintf(out_summary->note, sizeof out_summary->note, "%s", t->note);
	}
	sb_trace_free(t);
	return err;
}

const struct sb_importer sb_trace_importer = { "trace", looks_like_json, import_trace };
