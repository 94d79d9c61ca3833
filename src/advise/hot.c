/* The program's lines that time was spent at, by what they do. A line is read as text, where the source is
 * at hand, and by the library's function it was in. */
#include "advise/hot.h"

#include "advise/locks.h"
#include "advise/python_calls.h"
#include "advise/weigh.h"
#include "base/python_file.h"
#include "base/role.h"

#include <string.h>

/* The first row that fits decides. */
static const struct {
	enum sb_doing doing;
	const char *text; /* in the line */
	const char *inner; /* in the name of the library's function; one of both is enough */
} words[] = {
	{ SB_DOES_COLLECT, "gc.collect(", NULL },
	{ SB_DOES_ALLOCATE, "empty_cache(", "empty_cache" },
	{ SB_DOES_SLEEP, "sleep(", NULL },
	{ SB_DOES_WAIT_INPUT, NULL, "queue.Queue.get" },
	{ SB_DOES_WAIT_INPUT, NULL, "dataloader." },
	{ SB_DOES_WAIT_INPUT, "queue.get(", NULL },
	{ SB_DOES_WRITE, "compress(", "PngImagePlugin._save" }, /* Pillow reads in these files, too */
	{ SB_DOES_WRITE, "fsync(", "subprocess." },
	{ SB_DOES_WRITE, ".write(", "ImageFile._save" },
	{ SB_DOES_WRITE, NULL, "ImageFile._encode_tile" },
	{ SB_DOES_WRITE, NULL, "PngImagePlugin._idat" },
	{ SB_DOES_WRITE, NULL, "PngImagePlugin.putchunk" },
	{ SB_DOES_WRITE, ".save(", "Image.save" },
	{ SB_DOES_WRITE, "imwrite(", "imageio" },
	{ SB_DOES_WRITE, "np.save", "serialization.save" },
	{ SB_DOES_WRITE, "subprocess.", NULL },
	{ SB_DOES_WRITE, ".dump(", NULL },
	{ SB_DOES_WRITE, "export_to", NULL },
	{ SB_DOES_WAIT_GPU, "synchronize(", "synchronize" },
	{ SB_DOES_WAIT_GPU, ".item()", NULL },
	{ SB_DOES_WAIT_GPU, ".tolist()", NULL },
	{ SB_DOES_WAIT_GPU, ".any()", NULL },
	{ SB_DOES_WAIT_GPU, ".all()", NULL },
	{ SB_DOES_WAIT_GPU, "nonzero(", NULL },
	{ SB_DOES_WAIT_GPU, "isnan(", NULL },
	{ SB_DOES_WAIT_GPU, "isfinite(", NULL },
	{ SB_DOES_WAIT_GPU, "allclose(", NULL },
	{ SB_DOES_WAIT_GPU, "torch.equal(", NULL },
	{ SB_DOES_WAIT_GPU, ".cpu()", NULL },
	{ SB_DOES_WAIT_GPU, ".numpy()", NULL },
	{ SB_DOES_WAIT_GPU, "to(\"cpu\"", NULL },
	{ SB_DOES_WAIT_GPU, "to('cpu'", NULL },
	{ SB_DOES_COPY, ".cuda(", NULL },
	{ SB_DOES_COPY, "to(\"cuda", NULL },
	{ SB_DOES_COPY, "to('cuda", NULL },
	{ SB_DOES_COPY, "copy_(", NULL },
	{ SB_DOES_ASK, "getresponse(", NULL },
	{ SB_DOES_ASK, "urlopen(", NULL },
	{ SB_DOES_ASK, "urlretrieve(", NULL },
	{ SB_DOES_ASK, "upload_file", NULL },
	{ SB_DOES_ASK, "put_object(", NULL },
	{ SB_DOES_WAIT, ".acquire(", NULL },
	{ SB_DOES_WAIT, ".wait(", NULL },
	{ SB_DOES_WAIT, "select(", NULL },
	{ SB_DOES_WAIT, ".poll(", NULL },
	{ SB_DOES_WAIT, ".accept(", NULL },
	{ SB_DOES_WAIT, ".recv", NULL },
};

/* Names that a program may well have for something else ("requests.append(…)"): they ask only where the thread was in a
 * socket. */
static const char *const sockets_words[] = { "requests.", "httpx.", ".post(" };
static const char *const sockets[] = { "socket.", "ssl.", "SSLSocket." };

/* Files of Python's own library in which a thread waits and does nothing else: known where the text is not at hand. */
static const char *const waiting_files[] = { "/threading.py", "/queue.py", "/selectors.py", "/socket.py",
	"/ssl.py", "/multiprocessing/connection.py", "/concurrent/futures/thread.py" };

static bool is_waiting_file(const char *file)
{
	size_t size = file ? strlen(file) : 0;

	for (size_t i = 0; i < sizeof waiting_files / sizeof *waiting_files; i++) {
		size_t tail = strlen(waiting_files[i]);

		if (size >= tail && strcmp(file + size - tail, waiting_files[i]) == 0)
			return true;
	}
	return false;
}

static bool has(const char *text, const char *word)
{
	return text && word && strstr(text, word);
}

static bool has_any(const char *text, const char *const *words_of, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has(text, words_of[i]))
			return true;
	return false;
}

static bool asks_in_a_socket(const struct sb_line *line)
{
	return has_any(line->text, sockets_words, sizeof sockets_words / sizeof *sockets_words) &&
	       has_any(line->inner, sockets, sizeof sockets / sizeof *sockets);
}

/* "x.to(device)", "torch.tensor(values, device=x.device)"; what is made on the device (torch.empty) is not copied. */
static bool names_a_device(const char *text)
{
	return has(text, "device") && (has(text, ".to(") || has(text, "tensor("));
}

/* Of a number or a tensor of the host's that takes no time: a line that does nothing else, and takes long, waits for a
 * GPU. */
static bool only_converts(const char *text)
{
	int calls = 0;

	for (const char *at = text; at && *at; at++)
		calls += *at == '(';
	return calls && calls == sb_python_conversions(text);
}

enum sb_doing sb_hot_doing(const struct sb_line *line)
{
	if (line->stage && sb_role_work(line->stage, 0) == STROBE_ROLE_DATA)
		return SB_DOES_WAIT_INPUT;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (has(line->text, words[i].text) || has(line->inner, words[i].inner))
			return words[i].doing;
	if (asks_in_a_socket(line))
		return SB_DOES_ASK;
	if (names_a_device(line->text))
		return SB_DOES_COPY;
	if (!line->inner && only_converts(line->text))
		return SB_DOES_WAIT_GPU;
	return is_waiting_file(line->file) ? SB_DOES_WAIT : SB_DOES_COMPUTE;
}

bool sb_hot_may_wait_gpu(const struct sb_line *line)
{
	enum sb_doing doing = sb_hot_doing(line);

	return doing == SB_DOES_WAIT_GPU || doing == SB_DOES_COPY ||
	       (doing == SB_DOES_COMPUTE && line->text && sb_python_converts(line->text));
}

bool sb_hot_waits(const struct sb_line *line)
{
	enum sb_doing doing = sb_hot_doing(line);

	return doing == SB_DOES_WAIT || doing == SB_DOES_WAIT_INPUT ||
	       (doing == SB_DOES_COMPUTE && is_waiting_file(line->inner_file));
}

/* Without the parts that Python keeps as functions of their own: "on_step.<locals>.<genexpr>" is on_step. */
static size_t function_size(const char *name)
{
	static const char inner[] = ".<locals>.<";
	const char *part = strstr(name, inner);

	return part ? (size_t)(part - name) : strlen(name);
}

static bool same_function(const struct sb_line *a, const struct sb_line *b)
{
	size_t size = function_size(a->function);

	return size == function_size(b->function) && strncmp(a->function, b->function, size) == 0 &&
	       strcmp(a->file, b->file) == 0;
}

static bool is_in(const struct sb_line *l, const char *stage)
{
	return !stage || (l->stage && !strcmp(l->stage, stage));
}

static struct sb_hot add_up(const struct sb_model *model, const struct sb_line *largest, const char *stage,
	bool by_line, bool (*fits)(const struct sb_model *, const struct sb_line *))
{
	struct sb_hot hot = { .line = largest, .from_s = INFINITY, .to_s = 0 };

	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];

		if (!is_in(l, stage) || !fits(model, l) || !same_function(l, largest) ||
			(by_line && l->line != largest->line))
			continue;
		hot.total_s += l->total_s;
		hot.generation_s += l->generation_s;
		hot.step_s += l->step_s;
		hot.loop_s += l->loop_s;
		hot.among_s += l->among_s;
		hot.module_s += l->module_s;
		hot.outside_s += l->outside_s;
		hot.warm_count += l->warm_count;
		hot.outside_count += l->outside_count;
		hot.sample_count += l->sample_count;
		hot.loop_count += l->loop_count;
		hot.stood_count += l->stood_count;
		hot.ran_count += l->ran_count;
		hot.without_count += l->without_count;
		hot.cpu_s += l->cpu_s;
		hot.cpu_of_s += l->cpu_of_s;
		hot.from_s = fmin(hot.from_s, l->from_s);
		hot.to_s = fmax(hot.to_s, l->to_s);
	}
	return hot;
}

static struct sb_hot find_in(const struct sb_model *model, const char *stage,
	bool (*fits)(const struct sb_model *, const struct sb_line *))
{
	struct sb_hot best = { 0 };

	for (size_t i = 0; i < model->lines.count; i++) {
		struct sb_hot hot;

		if (!model->lines.all[i].line || !is_in(&model->lines.all[i], stage) ||
			!fits(model, &model->lines.all[i]))
			continue;
		hot = add_up(model, &model->lines.all[i], stage, false, fits);
		if (hot.total_s > best.total_s)
			best = hot;
	}
	return best;
}

struct sb_hot sb_hot_of(const struct sb_model *model, const struct sb_line *line, bool by_line,
	bool (*fits)(const struct sb_model *, const struct sb_line *))
{
	return add_up(model, line, NULL, by_line, fits);
}

struct sb_hot sb_hot_find(
	const struct sb_model *model, bool (*fits)(const struct sb_model *, const struct sb_line *))
{
	return find_in(model, NULL, fits);
}

#define AHEAD_MOST 0.9 /* in the rest a wait for the GPU comes to its end */

/* Of the warm generations, at lines of the stage that wait for the GPU. */
static double known_waits_s(const struct sb_model *model, const char *stage)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->lines.count; i++) {
		enum sb_doing doing = sb_hot_doing(&model->lines.all[i]);

		if (is_in(&model->lines.all[i], stage) &&
			(doing == SB_DOES_WAIT_GPU || doing == SB_DOES_COPY))
			sum_s += model->lines.all[i].generation_s;
	}
	return sum_s;
}

double sb_hot_ahead_ratio(const struct sb_model *model, const struct sb_line *line)
{
	const struct sb_stage *s = line && line->stage ? sb_model_stage(model, line->stage) : NULL;
	double waits_s, own_s, behind_s;

	if (!s || !(s->gpu_behind_s > 0))
		return 0;
	waits_s = known_waits_s(model, line->stage);
	own_s = s->self_s * sb_weigh_warm_share(model) - waits_s;
	behind_s = s->gpu_behind_s * sb_weigh_warm_share(model) - waits_s;
	return own_s > 0 && behind_s > 0 ? fmin(1, behind_s / own_s) : 0;
}

bool sb_hot_only_waits(const struct sb_model *model, const struct sb_line *line)
{
	return sb_hot_ahead_ratio(model, line) > AHEAD_MOST;
}

void sb_hot_say_ahead(struct sb_advisor *a, struct sb_advice *f, const struct sb_hot *hot)
{
	double ratio = f ? sb_hot_ahead_ratio(a->model, hot->line) : 0;

	if (ratio * 100 >= 1)
		f->evidence = sb_say(a,
			"%s; for %.0f %% of '%s' the GPU was still at earlier work, which is not counted",
			f->evidence, ratio * 100, hot->line->stage);
}

#define COMPUTES_ALL 0.9 /* of its time on a core, which other lines are in too: then it does not sleep */

static bool may_sleep(const struct sb_line *line)
{
	return line && !line->text && !line->inner && sb_hot_doing(line) == SB_DOES_COMPUTE &&
	       !(line->cpu_of_s > 0 && line->cpu_s >= COMPUTES_ALL * line->cpu_of_s);
}

void sb_hot_doubt(struct sb_advisor *a, struct sb_advice *f, const struct sb_line *line)
{
	if (!f || !may_sleep(line))
		return;
	if (!strcmp(f->priority, sb_priority_name(SB_PRIORITY_HIGH)))
		f->priority = sb_priority_name(SB_PRIORITY_MEDIUM);
	f->confidence = "possible";
	f->evidence = sb_say(a, "%s; the source is not at hand: the line may only sleep", f->evidence);
}

static const char *place_words(struct sb_advisor *a, const struct sb_line *line)
{
	const char *base = strrchr(line->file, '/'), *name = strrchr(line->function, '.');

	base = base ? base + 1 : line->file;
	name = name ? name + 1 : line->function;
	if (line->changed)
		return sb_say(a, "%s (%s:%u, which changed since the run)", name, base, line->line);
	if (line->text)
		return sb_say(a, "%s (%s:%u): %s", name, base, line->line, line->text);
	return line->inner ? sb_say(a, "%s (%s:%u), in %s", name, base, line->line, line->inner)
			   : sb_say(a, "%s (%s:%u)", name, base, line->line);
}

const char *sb_hot_words(struct sb_advisor *a, const struct sb_line *line)
{
	const struct sb_line *holder = sb_lock_holder(a->model, line);

	if (!holder)
		return place_words(a, line);
	return sb_say(a, "%s waits for a lock that another thread has: %s", place_words(a, line),
		place_words(a, holder));
}

void sb_hot_place(struct sb_advice *f, const struct sb_hot *hot)
{
	if (!f || !hot->line)
		return;
	sb_finding_line(f, hot->line->file, hot->line->line);
	f->where.stage = hot->line->stage;
	f->where.from_s = hot->from_s;
	f->where.to_s = hot->to_s;
}

/* ---- the line that takes most of a stage --------------------------------------- */

#define LINE_LEAST 0.5 /* of what was sampled in the stage */
#define LINE_SAMPLES_LEAST 5

static bool is_of_the_program(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return l->stage && l->line && !l->library && !sb_python_is_package(l->file);
}

static double sampled_s(const struct sb_model *model, const char *stage)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->lines.count; i++)
		if (model->lines.all[i].stage && !strcmp(model->lines.all[i].stage, stage))
			sum_s += model->lines.all[i].total_s;
	return sum_s;
}

/* Not of a stage that has work on a GPU: the CPU may wait for that at any line. */
void sb_hot_name_stage(struct sb_advisor *a, struct sb_advice *f, const struct sb_stage *s)
{
	struct sb_hot hot = { 0 };

	if (sb_weigh_has_gpu(a->model) && (s->gpu_span_count || s->gpu_call_count || s->gpu_behind_s > 0))
		return;
	hot = find_in(a->model, s->name, is_of_the_program);
	if (!hot.line || hot.sample_count < LINE_SAMPLES_LEAST ||
		hot.total_s < LINE_LEAST * sampled_s(a->model, s->name))
		return;
	f->cause = sb_say(a, "most of it was seen at %s", sb_hot_words(a, hot.line));
	f->confidence = "likely";
	sb_finding_line(f, hot.line->file, hot.line->line);
}
