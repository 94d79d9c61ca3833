/* A report model's comparable facts. */
#include "compare/facts.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sb_facts *sb_facts_new(const char *label)
{
	struct sb_facts *f = calloc(1, sizeof *f);

	if (!f) {
		sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", label);
		return NULL;
	}
	f->rank = f->local_rank = f->world_size = -1;
	for (int i = 0; i < SB_METRIC_COUNT; i++)
		f->metrics[i] = NAN;
	f->generation_unattributed_s = NAN;
	f->label = sb_facts_text(f, label);
	f->id = f->name = f->host = f->job = f->clock = "";
	return f;
}

void sb_facts_free(struct sb_facts *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->stage_count; i++)
		free(f->stages[i].attrs);
	for (size_t i = 0; i < f->histogram_count; i++)
		sb_histogram_done(&f->histograms[i]);
	free(f->histograms);
	free(f->stages);
	free(f->pairs);
	free(f->collectives);
	free(f->ranks);
	free(f->outputs);
	sb_facts_free_sizes(f);
	free(f->numbers);
	sb_strings_done(&f->strings);
	free(f);
}

const char *sb_facts_text(struct sb_facts *f, const char *text)
{
	if (!text)
		return NULL;
	return sb_strings_text(&f->strings, sb_strings_add(&f->strings, text, strlen(text)));
}

int sb_facts_add_pair(struct sb_facts *f, enum sb_fact_scope scope, const char *key, const char *value)
{
	size_t n = f->pair_count;

	if (!(n & (n - 1))) {
		struct sb_fact_pair *grown = realloc(f->pairs, (n ? n * 2 : 1) * sizeof *grown);

		if (!grown)
			return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
		f->pairs = grown;
	}
	f->pairs[f->pair_count++] = (struct sb_fact_pair){ scope, sb_facts_text(f, key),
		sb_facts_text(f, value) };
	return 0;
}

/* A code names a stage wherever it hangs and whatever its words have become;
 * without one it is the names from the root. */
int sb_facts_key_stages(struct sb_facts *f)
{
	struct sb_buf key = { 0 };
	bool failed = false;

	for (size_t i = 0; i < f->stage_count && !failed; i++) {
		struct sb_fact_stage *s = &f->stages[i];

		sb_buf_clear(&key);
		if (s->code && *s->code)
			sb_buf_printf(&key, "[%s]", s->code);
		else if (s->parent >= 0)
			sb_buf_printf(&key, "%s/%s", f->stages[s->parent].key, s->name);
		else
			sb_buf_puts(&key, s->name);
		s->key = sb_facts_text(f, sb_buf_text(&key));
		failed = key.failed || !s->key;
	}
	sb_buf_done(&key);
	return failed ? sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label) : 0;
}

/* ---- from the model ----------------------------------------------------- */

static void pair_text(const struct sb_pair *p, char *out, size_t size)
{
	switch (p->type) {
	case STROBE_TYPE_INT: snprintf(out, size, "%" PRId64, p->i); break;
	case STROBE_TYPE_FLOAT: snprintf(out, size, "%.10g", p->f); break;
	case STROBE_TYPE_BOOL: snprintf(out, size, "%s", p->i ? "true" : "false"); break;
	default: snprintf(out, size, "%s", p->s ? p->s : ""); break;
	}
}

static int take_pairs(struct sb_facts *f, enum sb_fact_scope scope, const struct sb_pair *pairs, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		char text[512];

		pair_text(&pairs[i], text, sizeof text);
		err = sb_facts_add_pair(f, scope, pairs[i].key, text);
	}
	return err;
}

/* Of the first GPU that has it. */
static double device_stat(const struct sb_model *m, size_t offset)
{
	for (size_t i = 0; i < m->devices.count; i++) {
		double value = *(const double *)((const char *)&m->devices.all[i] + offset);

		if (!isnan(value))
			return value;
	}
	return NAN;
}
#define DEVICE(member) device_stat(m, offsetof(struct sb_device, member))

/* Columns that only grow: their rise over the time they were watched. */
static double rate_of(const struct sb_model *m, const char *source, const char *name)
{
	for (size_t i = 0; i < m->series_count; i++) {
		const struct sb_series *s = &m->series[i];
		const struct sb_series_column *c = strcmp(s->source, source) ? NULL
									     : sb_series_column_find(s, name);

		if (c && s->count > 1 && s->t_s[s->count - 1] > s->t_s[0] && c->stats.count > 1)
			return (c->stats.last - c->first) / (s->t_s[s->count - 1] - s->t_s[0]);
	}
	return NAN;
}

#define MB 1048576.0 /* as torch and nvidia-smi print them */

static double first_of(double a, double b)
{
	return isnan(a) ? b : a;
}

/* The run's own, else the machine's; a report that was read back has the rate alone. */
static double disk_rate(const struct sb_model *m, const char *own, const char *machine, double gb_per_s)
{
	double rate = first_of(rate_of(m, "disk", own), rate_of(m, "disk", machine));

	return m->disk.present ? first_of(rate, 1e9 * gb_per_s) : rate;
}

/* Of these, nothing was measured where it is not positive. */
static double known(double value)
{
	return value > 0 ? value : NAN;
}

static void take_video(struct sb_facts *f, const struct sb_model *m)
{
	double *metrics = f->metrics;

	metrics[SB_METRIC_FPS] = known(m->summary.fps_wall);
	metrics[SB_METRIC_FPS_COMPUTE] = known(m->summary.fps_compute);
	metrics[SB_METRIC_BPS] = known(m->summary.bps_wall);
	metrics[SB_METRIC_FRAMES] = known((double)m->summary.frames);
	metrics[SB_METRIC_STEPS] = known((double)m->summary.steps);
	metrics[SB_METRIC_FIRST_BLOCK] = known(m->summary.first_block_s);
	if (m->generations.total > 0 && !m->generations.whole_run)
		metrics[SB_METRIC_GENERATIONS] = (double)m->generations.total;
	if (!m->generations.whole_run && m->generations.time.count > 0)
		metrics[SB_METRIC_GENERATION] = m->generations.time.p50;
	if (!isnan(metrics[SB_METRIC_GENERATION]))
		f->generation_unattributed_s = m->summary.unattributed_s;
	if (m->diffusion.present && m->diffusion.step.count > 0)
		metrics[SB_METRIC_STEP] = m->diffusion.step.p50;
	if (m->diffusion.present && m->diffusion.offload_s > 0)
		metrics[SB_METRIC_OFFLOAD] = m->diffusion.offload_s;
	if (m->streaming.present)
		metrics[SB_METRIC_DROPPED] = m->streaming.dropped_ratio;
	if (m->caches.present) {
		double hits = 0, requests = 0;

		for (size_t i = 0; i < m->caches.cache_count; i++) {
			hits += (double)m->caches.caches[i].hits;
			requests += (double)(m->caches.caches[i].hits + m->caches.caches[i].misses);
		}
		metrics[SB_METRIC_CACHE_HITS] = requests > 0 ? hits / requests : NAN;
	}
}

static void take_resources(struct sb_facts *f, const struct sb_model *m)
{
	double *metrics = f->metrics;

	metrics[SB_METRIC_GPU_MEMORY_PEAK] = first_of(
		known(m->summary.gpu_peak_bytes), MB * DEVICE(memory_used_mb.max));
	metrics[SB_METRIC_GPU_MEMORY_MEAN] = MB * DEVICE(memory_used_mb.mean);
	metrics[SB_METRIC_GPU_RESERVED_PEAK] = known(m->summary.gpu_reserved_peak_bytes);
	metrics[SB_METRIC_GPU_MEMORY_TOTAL] = known(m->summary.gpu_total_bytes);
	metrics[SB_METRIC_RAM_PEAK] = first_of(
		known(m->summary.ram_peak_bytes), known(m->memory.ram_peak_bytes));
	metrics[SB_METRIC_RSS_PEAK] = first_of(
		known(m->session.peak_rss_bytes), known(m->memory.rss_peak_bytes));
	if (m->memory.present) {
		metrics[SB_METRIC_SWAP_PEAK] = m->memory.swap_peak_bytes;
		metrics[SB_METRIC_PAGE_CACHE_PEAK] = known(m->memory.page_cache_peak_bytes);
	}
	metrics[SB_METRIC_GPU_UTILIZATION] = DEVICE(utilization_percent.mean);
	metrics[SB_METRIC_GPU_TEMPERATURE] = DEVICE(temperature_c.max);
	metrics[SB_METRIC_GPU_POWER] = DEVICE(power_w.mean);
	metrics[SB_METRIC_GPU_CLOCK] = DEVICE(sm_clock_mhz.mean);
	metrics[SB_METRIC_ENERGY] = known(m->summary.energy_wh);
	metrics[SB_METRIC_CPU] = m->cpu.usage_percent.mean;
	metrics[SB_METRIC_PROCESS_CPU] = m->cpu.process_percent.mean;
	metrics[SB_METRIC_DISK_READ] = disk_rate(
		m, "read_bytes", "machine_read_bytes", m->disk.read_gb_per_s);
	metrics[SB_METRIC_DISK_WRITE] = disk_rate(
		m, "write_bytes", "machine_write_bytes", m->disk.write_gb_per_s);
	if (m->gpu.present) {
		double copies = 0;

		for (size_t i = 0; i < m->gpu.copy_count; i++)
			copies += m->gpu.copies[i].total_s;
		metrics[SB_METRIC_GPU_BUSY] = m->gpu.busy_s;
		metrics[SB_METRIC_GPU_IDLE] = m->gpu.idle_s;
		metrics[SB_METRIC_COPIES] = copies;
		metrics[SB_METRIC_COMMUNICATION] = m->gpu.communication_s;
	}
}

static void take_stage_times(struct sb_facts *f, const struct sb_model *m)
{
	double collective = NAN, offload = NAN;

	f->metrics[SB_METRIC_WALL] = m->session.no_times ? 0 : m->stages.wall_s;
	f->metrics[SB_METRIC_UNATTRIBUTED] = m->session.no_times ? NAN : m->stages.unattributed_s;
	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_stage *s = &m->stages.stages[i];
		bool nested = s->parent >= 0 && m->stages.stages[s->parent].role == s->role;

		if (nested || s->state == SB_STAGE_SKIPPED || s->state == SB_STAGE_UNTIMED)
			continue;
		if (s->role == STROBE_ROLE_COLLECTIVE)
			collective = (isnan(collective) ? 0 : collective) + s->total_s;
		if (s->role == STROBE_ROLE_OFFLOAD)
			offload = (isnan(offload) ? 0 : offload) + s->total_s;
	}
	f->metrics[SB_METRIC_COLLECTIVE] = collective;
	if (isnan(f->metrics[SB_METRIC_OFFLOAD]))
		f->metrics[SB_METRIC_OFFLOAD] = offload;
}

/* Iterations by name, role and count, to find a stage's among tens of thousands. */
static uint64_t iterations_key(const char *name, uint32_t role, int64_t count)
{
	uint64_t hash = 14695981039346656037u ^ role ^ (uint64_t)count << 8;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211u;
	return hash;
}

static bool index_iterations(const struct sb_model *m, struct sb_map *out_index)
{
	for (size_t i = m->iterations.count; i-- > 0;) { /* the first of a name stays */
		const struct sb_iterations *it = &m->iterations.all[i];

		if (!sb_map_put(out_index, iterations_key(it->name, it->role, it->all.count), (uint32_t)i))
			return false;
	}
	return true;
}

static const struct sb_iterations *iterations_of(
	const struct sb_model *m, const struct sb_map *index, const struct sb_stage *s)
{
	const struct sb_iterations *it;
	uint32_t at;

	if (!sb_map_get(index, iterations_key(s->name, s->role, s->count), &at))
		return NULL;
	it = &m->iterations.all[at];
	return it->role == s->role && !strcmp(it->name, s->name) && it->all.count == s->count ? it : NULL;
}

static int take_attrs(struct sb_facts *f, struct sb_fact_stage *to, const struct sb_stage *s)
{
	if (!s->attr_count)
		return 0;
	to->attrs = calloc(s->attr_count, sizeof *to->attrs);
	if (!to->attrs)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < s->attr_count; i++) {
		const struct sb_stage_attr *a = &s->attrs[i];
		struct sb_pair *p = &to->attrs[to->attr_count];

		/* a value that differs from call to call is data, not configuration */
		if (!a->text && a->count > 1 && a->min != a->max)
			continue;
		p->key = sb_facts_text(f, a->key);
		p->type = a->text ? STROBE_TYPE_STRING : STROBE_TYPE_FLOAT;
		p->f = a->last;
		p->s = sb_facts_text(f, a->text);
		to->attr_count++;
	}
	return 0;
}

static const double *take_numbers(double **numbers, const double *values, size_t count)
{
	double *taken = *numbers;

	memcpy(taken, values, count * sizeof *taken);
	*numbers += count;
	return taken;
}

static bool has_stage(const struct sb_facts *f, const char *name)
{
	for (size_t i = 0; i < f->stage_count; i++)
		if (!strcmp(f->stages[i].name, name))
			return true;
	return false;
}

/* A precision that a text names ("FP16: 28.45 ms") compares as a stage. In a recording its calls are inside stages. */
static void take_variants(struct sb_facts *f, const struct sb_model *m)
{
	if (m->stages.stage_count && !m->models.summed_blocks)
		return;
	for (size_t i = 0; i < m->models.variant_count; i++) {
		const struct sb_variant *v = &m->models.variants[i];
		double total_s = v->time.mean * (double)(v->time.count > 0 ? v->time.count : 1);

		if (isnan(total_s) || !v->name || has_stage(f, v->name))
			continue;
		f->stages[f->stage_count++] = (struct sb_fact_stage){ .name = sb_facts_text(f, v->name),
			.parent = -1,
			.count = (int64_t)v->time.count,
			.total_s = total_s,
			.self_s = total_s,
			.is_mean = true,
			.first_s = NAN,
			.time = v->time,
			.gpu_span_s = NAN,
			.gpu_busy_s = NAN };
	}
}

static int take_stages(struct sb_facts *f, const struct sb_model *m, double **numbers)
{
	struct sb_map index = { 0 };
	int err = 0;

	f->stages = calloc(m->stages.stage_count + m->models.variant_count + 1, sizeof *f->stages);
	if (!f->stages || !index_iterations(m, &index)) {
		sb_map_done(&index);
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	}
	for (size_t i = 0; i < m->stages.stage_count && !err; i++) {
		const struct sb_stage *s = &m->stages.stages[i];
		const struct sb_iterations *it = iterations_of(m, &index, s);
		bool timed = s->state != SB_STAGE_SKIPPED && s->state != SB_STAGE_UNTIMED;
		struct sb_fact_stage *to = &f->stages[f->stage_count++];

		*to = (struct sb_fact_stage){ .name = sb_facts_text(f, s->name),
			.code = sb_facts_text(f, s->code),
			.parent = s->parent,
			.depth = s->depth,
			.role = s->role,
			.state = s->state,
			.reason = sb_facts_text(f, s->skip_reason),
			.count = s->count,
			.total_s = timed ? s->total_s : NAN,
			.is_mean = s->role == STROBE_ROLE_LAYER && m->models.summed_blocks,
			.first_s = s->first_s,
			.self_s = timed ? s->self_s : NAN,
			.time = s->time,
			.gpu_span_s = s->gpu_span_s,
			.gpu_busy_s = s->gpu_busy_s };
		if (s->sample_count)
			to->values = take_numbers(numbers, s->sample_s, s->sample_count);
		else if (it && it->sample_count)
			to->values = take_numbers(numbers, it->sample_s, it->sample_count);
		to->value_count = s->sample_count ? s->sample_count : it ? it->sample_count : 0;
		err = take_attrs(f, to, s);
	}
	sb_map_done(&index);
	take_variants(f, m);
	return err ? err : sb_facts_key_stages(f);
}

/* The model's histograms go with it: copies stay. */
static int take_histograms(struct sb_facts *f, const struct sb_model *m)
{
	f->histograms = calloc(m->stages.stage_count + 1, sizeof *f->histograms);
	if (!f->histograms)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_histogram *calls = m->stages.stages[i].calls;
		struct sb_histogram *to = &f->histograms[f->histogram_count];

		if (!calls)
			continue;
		f->histogram_count++;
		if (!sb_histogram_merge(to, calls))
			return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
		f->stages[i].calls = to;
	}
	return 0;
}

enum sb_meet_kind sb_meet_kind_of(const char *name)
{
	static const struct {
		const char *end;
		enum sb_meet_kind kind;
	} kinds[] = { { "broadcast", SB_MEET_FROM_ROOT }, { "scatter", SB_MEET_FROM_ROOT },
		{ "reduce", SB_MEET_TO_ROOT }, { "gather", SB_MEET_TO_ROOT }, { "send", SB_MEET_SEND },
		{ "recv", SB_MEET_RECV } };
	const char *op = strrchr(name, ':');

	op = op ? op + 1 : name;
	op += (op[0] == 'i' && (!strcmp(op + 1, "send") || !strcmp(op + 1, "recv")));
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strcmp(op, kinds[i].end))
			return kinds[i].kind;
	return SB_MEET_ALL;
}

#define AT_ONCE_S 50e-6 /* who waits less did not wait: it was over before */

static struct sb_fact_collective fact_of(struct sb_facts *f, const struct sb_collective *c)
{
	return (struct sb_fact_collective){ .name = sb_facts_text(f, c->name),
		.occurrence = c->occurrence,
		.begin_s = c->begin_s,
		.end_s = c->end_s,
		.group = sb_facts_text(f, c->group),
		.hidden_s = c->hidden_s,
		.bytes = c->bytes,
		.kind = sb_meet_kind_of(c->name),
		.root = (int32_t)c->root,
		.late_end = c->hidden_s > 0 && c->end_s - c->begin_s - c->hidden_s < AT_ONCE_S };
}

static int take_collectives(struct sb_facts *f, const struct sb_model *m)
{
	f->collective_total = m->collectives.total;
	f->collectives = calloc(m->collectives.count + 1, sizeof *f->collectives);
	if (!f->collectives)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < m->collectives.count; i++) {
		const struct sb_collective *c = &m->collectives.all[i];

		if (!c->enqueued) /* its end says nothing about the others */
			f->collectives[f->collective_count++] = fact_of(f, c);
	}
	return 0;
}

static void take_repetitions(struct sb_facts *f, const struct sb_model *m, double **numbers)
{
	f->generation_s = *numbers;
	for (size_t i = 0; i < m->generations.listed; i++)
		if (!m->generations.all[i].state)
			(*numbers)[f->generation_count++] = m->generations.all[i].wall_s;
	*numbers += f->generation_count;
	for (size_t i = 0; i < m->iterations.count; i++) {
		const struct sb_iterations *it = &m->iterations.all[i];

		if (it->role != STROBE_ROLE_STEP || it->sample_count <= f->step_count)
			continue;
		f->step_s = take_numbers(numbers, it->sample_s, it->sample_count);
		f->step_sum_s = it->sample_sum_s ? take_numbers(numbers, it->sample_sum_s, it->sample_count)
						 : NULL;
		f->step_count = it->sample_count;
		f->step_stride = it->sample_stride ? it->sample_stride : 1;
		f->step_of = it->sample_of ? it->sample_of : it->sample_count;
	}
}

static void take_session(struct sb_facts *f, const struct sb_model *m)
{
	const struct sb_session_panel *s = &m->session;

	f->id = sb_facts_text(f, s->id ? s->id : "");
	f->name = sb_facts_text(f, s->name ? s->name : "");
	f->host = sb_facts_text(f, s->host ? s->host : "");
	f->job = sb_facts_text(f, s->job ? s->job : "");
	f->clock = sb_facts_text(f, s->clock ? s->clock : "");
	f->gpu = m->devices.count ? sb_facts_text(f, m->devices.all[0].uuid) : NULL;
	f->rank = s->rank;
	f->local_rank = s->local_rank;
	f->world_size = s->world_size > 0 ? s->world_size : -1;
	f->start_real_ns = s->start_real_ns;
	f->complete = m->recording.complete;
	f->live = s->state && !strcmp(s->state, "live");
	if (m->recording.damage_count) {
		char text[256];

		snprintf(text, sizeof text, "%s (%" PRId64 " %s, %.0f bytes skipped)",
			m->recording.damage[0].text, m->recording.damage[0].count,
			m->recording.damage[0].count == 1 ? "place" : "places", m->recording.skipped_bytes);
		f->damage = sb_facts_text(f, text);
	}
}

static int take_outputs(struct sb_facts *f, const struct sb_model *m)
{
	f->outputs = calloc(m->outputs.count + 1, sizeof *f->outputs);
	if (!f->outputs)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < m->outputs.count; i++) {
		struct sb_output o = m->outputs.all[i];

		if (!o.path || !o.state) /* of a report that was edited */
			continue;
		o.path = sb_facts_text(f, o.path);
		o.state = sb_facts_text(f, o.state);
		o.why = sb_facts_text(f, o.why);
		o.sha256 = sb_facts_text(f, o.sha256);
		o.kept = sb_facts_text(f, o.kept);
		o.pixel_format = sb_facts_text(f, o.pixel_format);
		f->outputs[f->output_count++] = o;
	}
	return 0;
}

int sb_facts_of_model(const struct sb_model *m, const char *label, struct sb_facts **out_facts)
{
	struct sb_facts *f = sb_facts_new(label);
	size_t numbers = m->generations.listed;
	double *next;
	int err;

	if (!f)
		return STROBE_ENOMEM;
	for (size_t i = 0; i < m->iterations.count; i++)
		numbers += 3 * m->iterations.all[i].sample_count;
	for (size_t i = 0; i < m->stages.stage_count; i++)
		numbers += m->stages.stages[i].sample_count;
	next = f->numbers = malloc((numbers + 1) * sizeof *f->numbers);
	err = next ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", label);
	if (!err) {
		take_session(f, m);
		take_video(f, m);
		take_resources(f, m);
		take_stage_times(f, m);
		take_repetitions(f, m, &next);
		err = take_stages(f, m, &next);
	}
	if (!err)
		err = take_histograms(f, m);
	if (!err)
		err = take_collectives(f, m);
	if (!err)
		err = take_outputs(f, m);
	if (!err)
		err = sb_facts_take_sizes(f, &m->sizes);
	if (!err && m->session.command)
		err = sb_facts_add_pair(f, SB_FACT_COMMAND, "command", m->session.command);
	if (!err)
		err = take_pairs(f, SB_FACT_TAG, m->session.tags, m->session.tag_count);
	if (!err)
		err = take_pairs(f, SB_FACT_SETTING, m->system.settings, m->system.setting_count);
	if (!err)
		err = take_pairs(f, SB_FACT_SYSTEM, m->system.facts, m->system.fact_count);
	if (err) {
		sb_facts_free(f);
		return err;
	}
	*out_facts = f;
	return 0;
}
