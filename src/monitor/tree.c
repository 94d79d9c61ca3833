/* The process tree: membership by scanning /proc, totals by reading members. */
#include "monitor/tree.h"

#include "monitor/procfile.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MEMBERS_MAX = 4096 };
#define SCAN_COST_RATIO 0.0005 /* of one core may go into looking through all of /proc */
#define SCAN_SPACING_NS_MOST 20000000000ull

struct member {
	pid_t pid;
	uint64_t start_time; /* tells a reused pid */
	double cpu_s;
	uint64_t rss_bytes;
	uint32_t threads;
	uint64_t read_bytes, write_bytes;
	bool io_known;
};

struct stat_line {
	pid_t pid, ppid;
	char state;
	uint64_t start_time;
	double cpu_s;
	uint32_t threads;
	uint64_t rss_bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pid_t root;
	bool outside;
	struct member *members;
	uint32_t count;
	uint32_t seen;
	uint64_t next_scan_ns;
	uint64_t gone_read_bytes, gone_write_bytes;
	double gone_cpu_s;
	struct sb_tree_totals peak; /* totals never fall */
} tree;
static pid_t left_out[2];

static bool parse_stat(const char *text, struct stat_line *out)
{
	const char *after = strrchr(text, ')');
	unsigned long long utime, stime, start;
	long long cutime, cstime, threads, rss;
	double hz = (double)sysconf(_SC_CLK_TCK);
	int ppid;

	if (!after ||
		sscanf(after + 1,
			" %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld %*d %*d %lld %*d "
			"%llu %*u %lld",
			&out->state, &ppid, &utime, &stime, &cutime, &cstime, &threads, &start, &rss) != 9)
		return false;
	out->pid = (pid_t)atoi(text);
	out->ppid = ppid;
	out->start_time = start;
	out->cpu_s = ((double)utime + (double)stime + (double)cutime + (double)cstime) / hz;
	out->threads = (uint32_t)threads;
	out->rss_bytes = (uint64_t)rss * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}

static bool read_stat(pid_t pid, struct stat_line *out)
{
	char text[1024];

	return sb_procfile_proc_text(text, sizeof text, "%d/stat", (int)pid) > 0 && parse_stat(text, out);
}

static void read_io(struct member *m)
{
	char text[512];

	m->io_known = sb_procfile_proc_text(text, sizeof text, "%d/io", (int)m->pid) > 0 &&
		      sb_procfile_field(text, "read_bytes: ", &m->read_bytes) &&
		      sb_procfile_field(text, "write_bytes: ", &m->write_bytes);
}

static struct member *find(pid_t pid)
{
	for (uint32_t i = 0; i < tree.count; i++)
		if (tree.members[i].pid == pid)
			return &tree.members[i];
	return NULL;
}

static bool is_left_out(pid_t pid)
{
	return pid == left_out[0] || pid == left_out[1];
}

static void add(const struct stat_line *line)
{
	if (find(line->pid) || tree.count == MEMBERS_MAX || is_left_out(line->pid))
		return;
	tree.members[tree.count++] = (struct member){ .pid = line->pid, .start_time = line->start_time };
	tree.seen++;
}

static bool is_below(const struct stat_line *line)
{
	return line->ppid == tree.root || find(line->ppid);
}

/* Everything in /proc, then every process with a parent in the tree, until no more. */
static void scan(void)
{
	struct sb_descriptor file;
	DIR *folder = sb_descriptor_opendir(&file, sb_procfile_proc());
	struct stat_line *lines = NULL;
	size_t count = 0, capacity = 0;
	struct dirent *entry;
	bool grew = true;

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		if (count == capacity) {
			struct stat_line *larger = realloc(
				lines, (capacity ? capacity * 2 : 256) * sizeof *lines);

			if (!larger)
				break;
			lines = larger;
			capacity = capacity ? capacity * 2 : 256;
		}
		count += read_stat((pid_t)atoi(entry->d_name), &lines[count]);
	}
	sb_descriptor_closedir(&file, folder);
	while (grew) {
		uint32_t before = tree.count;

		for (size_t i = 0; i < count; i++)
			if (is_below(&lines[i]) && lines[i].state != 'Z')
				add(&lines[i]);
		grew = tree.count != before;
	}
	free(lines);
}

/* What a process's first thread has forked: one small file, so new processes
 * are mostly found between scans too. */
static void add_children(pid_t pid)
{
	char text[4096], *at = text, *end;

	if (sb_procfile_proc_text(text, sizeof text, "%d/task/%d/children", (int)pid, (int)pid) <= 0)
		return;
	for (long child = strtol(at, &end, 10); end != at; at = end, child = strtol(at, &end, 10)) {
		struct stat_line line;

		if (!find((pid_t)child) && read_stat((pid_t)child, &line) && line.state != 'Z')
			add(&line);
	}
}

void sb_tree_open(pid_t root, bool outside)
{
	pthread_mutex_lock(&lock);
	free(tree.members);
	memset(&tree, 0, sizeof tree);
	tree.root = root;
	tree.outside = outside;
	tree.members = calloc(MEMBERS_MAX, sizeof *tree.members);
	if (tree.members && !outside) {
		struct stat_line line;

		if (read_stat(root, &line))
			add(&line);
	}
	pthread_mutex_unlock(&lock);
}

/* A scan may have found one before it was named. */
static void drop(pid_t pid)
{
	struct member *m = find(pid);

	if (!m)
		return;
	*m = tree.members[--tree.count];
	tree.seen--;
}

void sb_tree_leave_out(const pid_t *pids, size_t count)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
		left_out[i] = i < count ? pids[i] : 0;
		if (left_out[i])
			drop(left_out[i]);
	}
	pthread_mutex_unlock(&lock);
}

void sb_tree_close(void)
{
	pthread_mutex_lock(&lock);
	free(tree.members);
	memset(&tree, 0, sizeof tree);
	pthread_mutex_unlock(&lock);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void refresh(bool with_io)
{
	for (uint32_t i = 0; i < tree.count;) {
		struct member *m = &tree.members[i];
		struct stat_line line;

		if (!read_stat(m->pid, &line) || line.start_time != m->start_time) {
			*m = tree.members[--tree.count];
			continue;
		}
		m->cpu_s = line.cpu_s;
		m->rss_bytes = line.rss_bytes;
		m->threads = line.threads;
		if (with_io) {
			read_io(m);
			tree.peak.io_refused |= !m->io_known && line.state != 'Z';
		}
		i++;
	}
}

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void sum(void)
{
	struct sb_tree_totals t = { .cpu_s = tree.gone_cpu_s,
		.read_bytes = tree.gone_read_bytes,
		.write_bytes = tree.gone_write_bytes };

	for (uint32_t i = 0; i < tree.count; i++) {
		const struct member *m = &tree.members[i];

		t.process_count++;
		t.thread_count += m->threads;
		t.rss_bytes += m->rss_bytes;
		t.cpu_s += m->cpu_s;
		t.read_bytes += m->io_known ? m->read_bytes : 0;
		t.write_bytes += m->io_known ? m->write_bytes : 0;
		t.io_known |= m->io_known;
	}
	t.cpu_s = fmax(t.cpu_s, tree.peak.cpu_s);
	t.read_bytes = max64(t.read_bytes, tree.peak.read_bytes);
	t.write_bytes = max64(t.write_bytes, tree.peak.write_bytes);
	t.io_known |= tree.peak.io_known;
	t.io_refused = tree.peak.io_refused;
	tree.peak = t;
}

void sb_tree_update(uint64_t mono_ns, bool with_io)
{
	pthread_mutex_lock(&lock);
	if (tree.members && mono_ns >= tree.next_scan_ns) {
		uint64_t start_ns = cpu_ns(), wait_ns;

		scan();
		wait_ns = (uint64_t)((double)(cpu_ns() - start_ns) / SCAN_COST_RATIO);
		tree.next_scan_ns = mono_ns +
				    (wait_ns < SCAN_SPACING_NS_MOST ? wait_ns : SCAN_SPACING_NS_MOST);
	}
	if (tree.members) {
		if (tree.outside)
			add_children(tree.root);
		for (uint32_t i = 0; i < tree.count; i++) /* grows as it goes: grandchildren too */
			add_children(tree.members[i].pid);
		refresh(with_io);
		sum();
	}
	pthread_mutex_unlock(&lock);
}

void sb_tree_totals(struct sb_tree_totals *out)
{
	pthread_mutex_lock(&lock);
	*out = tree.peak;
	pthread_mutex_unlock(&lock);
}

/* Linux 6.2 has the count as the folder's size. */
static double open_files(pid_t pid)
{
	struct sb_descriptor file;
	struct dirent *entry;
	double count = 0;
	char path[320];
	struct stat st;
	DIR *folder;

	snprintf(path, sizeof path, "%s/%d/fd", sb_procfile_proc(), (int)pid);
	if (!stat(path, &st) && st.st_size > 0 && st.st_nlink <= 2 && !strcmp(sb_procfile_proc(), "/proc"))
		return (double)st.st_size;
	folder = sb_descriptor_opendir(&file, path);
	if (!folder)
		return NAN;
	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	sb_descriptor_closedir(&file, folder);
	return count;
}

static void add_mb(double *sum_mb, const char *text, const char *key)
{
	uint64_t kb;

	if (sb_procfile_field(text, key, &kb))
		*sum_mb = (isnan(*sum_mb) ? 0 : *sum_mb) + (double)kb / 1024;
}

void sb_tree_details(struct sb_tree_details *out)
{
	char text[4096];

	*out = (struct sb_tree_details){ NAN, NAN, NAN, NAN, NAN };
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < tree.count; i++) {
		double files = open_files(tree.members[i].pid);

		if (!isnan(files))
			out->open_file_count = (isnan(out->open_file_count) ? 0 : out->open_file_count) +
					       files;
		if (sb_procfile_proc_text(text, sizeof text, "%d/status", (int)tree.members[i].pid) <= 0)
			continue;
		add_mb(&out->anon_mb, text, "RssAnon:");
		add_mb(&out->file_mb, text, "RssFile:");
		add_mb(&out->shared_mb, text, "RssShmem:");
		add_mb(&out->pinned_mb, text, "VmLck:");
		add_mb(&out->pinned_mb, text, "VmPin:");
	}
	pthread_mutex_unlock(&lock);
}

double sb_tree_pss_mb(void)
{
	uint64_t total_kb = 0, kb;
	bool known = false;
	char text[2048];

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < tree.count; i++)
		if (sb_procfile_proc_text(text, sizeof text, "%d/smaps_rollup", (int)tree.members[i].pid) >
				0 &&
			sb_procfile_field(text, "Pss:", &kb)) {
			total_kb += kb;
			known = true;
		}
	pthread_mutex_unlock(&lock);
	return known ? (double)total_kb / 1024 : NAN;
}

bool sb_tree_contains(pid_t pid)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = (!tree.outside && pid == tree.root) || find(pid);
	pthread_mutex_unlock(&lock);
	return found;
}

uint32_t sb_tree_members(pid_t *out_pids, uint32_t limit)
{
	uint32_t count = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < tree.count && count < limit; i++)
		out_pids[count++] = tree.members[i].pid;
	pthread_mutex_unlock(&lock);
	return count;
}

void sb_tree_rescan(void)
{
	pthread_mutex_lock(&lock);
	tree.next_scan_ns = 0;
	pthread_mutex_unlock(&lock);
}

void sb_tree_reaping(pid_t pid)
{
	struct member last = { .pid = pid };
	struct stat_line line;
	struct member *m;

	pthread_mutex_lock(&lock);
	if (tree.members && read_stat(pid, &line)) {
		read_io(&last);
		tree.gone_cpu_s += line.cpu_s;
		tree.gone_read_bytes += last.io_known ? last.read_bytes : 0;
		tree.gone_write_bytes += last.io_known ? last.write_bytes : 0;
		m = find(pid);
		if (m)
			*m = tree.members[--tree.count];
		else
			tree.seen++;
		sum();
		tree.peak.io_known |= last.io_known;
	}
	pthread_mutex_unlock(&lock);
}

uint32_t sb_tree_seen_count(void)
{
	uint32_t seen;

	pthread_mutex_lock(&lock);
	seen = tree.seen;
	pthread_mutex_unlock(&lock);
	return seen;
}

void sb_tree_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(&tree, 0, sizeof tree);
}
