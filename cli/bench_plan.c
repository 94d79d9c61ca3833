/* Sweeps and ladders into command lines. No shell is involved: words are split
 * at blanks, with quotes and backslashes, and nothing else has a meaning. */
#include "bench_plan.h"

#include "base/secret.h"
#include "base/buf.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 4096
#define LADDER_BYTES_MAX (1 << 20)

struct key {
	char *name;
	char **values;
	size_t count;
};

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the plan");
}

void bench_plan_free_words(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

/* Adds to a NULL-terminated list; takes the word over. */
static int add_word(char ***words, size_t *count, char *word)
{
	char **grown = word ? realloc(*words, (*count + 2) * sizeof *grown) : NULL;

	if (!grown) {
		free(word);
		return no_memory();
	}
	grown[(*count)++] = word;
	grown[*count] = NULL;
	*words = grown;
	return 0;
}

/* Every {name} in text by value. */
static char *substitute(const char *text, const char *name, const char *value, bool *out_found)
{
	struct sb_buf out = { 0 };
	size_t size = strlen(name);

	for (; *text; text++) {
		if (*text == '{' && !strncmp(text + 1, name, size) && text[size + 1] == '}') {
			sb_buf_puts(&out, value);
			text += size + 1;
			*out_found = true;
		} else {
			sb_buf_putc(&out, *text);
		}
	}
	if (!out.data && !out.failed)
		return strdup("");
	if (out.failed) {
		sb_buf_done(&out);
		return NULL;
	}
	return out.data;
}

static void put_word(struct sb_buf *out, const char *word)
{
	bool plain = *word && !strpbrk(word, " \t\n'\"\\$`;&|<>()*?!");

	sb_buf_puts(out, plain ? "" : "'");
	for (const char *c = word; *c; c++)
		if (*c == '\'')
			sb_buf_puts(out, "'\\''");
		else
			sb_buf_putc(out, *c);
	sb_buf_puts(out, plain ? "" : "'");
}

char *bench_command_text(char **command)
{
	struct sb_buf out = { 0 };

	for (char **w = command; w && *w; w++) {
		size_t size = sb_secret_room(strlen(*w));
		char *word = malloc(size);

		if (!word)
			break;
		sb_secret_mask_argument(command, (size_t)(w - command), word, size);
		sb_buf_puts(&out, w == command ? "" : " ");
		put_word(&out, word);
		free(word);
	}
	if (!out.data)
		return strdup("");
	return out.data;
}

/* ---- sweeps ------------------------------------------------------------- */

static void key_done(struct key *k)
{
	free(k->name);
	bench_plan_free_words(k->values);
}

static int key_parse(const char *text, struct key *out_key)
{
	const char *equals = strchr(text, '=');
	struct key k = { 0 };
	int err = 0;

	if (!equals || equals == text || !equals[1])
		return sb_fail(STROBE_EINVAL, "--sweep takes KEY=VALUE,VALUE..., not '%s'", text);
	k.name = strndup(text, (size_t)(equals - text));
	for (const char *p = equals + 1; k.name && !err;) {
		size_t size = strcspn(p, ",");

		err = add_word(&k.values, &k.count, strndup(p, size));
		if (!p[size])
			break;
		p += size + 1;
	}
	if (!k.name)
		err = no_memory();
	if (err) {
		key_done(&k);
		return err;
	}
	*out_key = k;
	return 0;
}

static int check_keys(const struct key *keys, size_t count, char **command)
{
	size_t rows = 1;

	for (size_t i = 0; i < count; i++) {
		bool found = false;

		for (char **w = command; *w; w++)
			free(substitute(*w, keys[i].name, "", &found));
		if (!found)
			return sb_fail(STROBE_EINVAL, "the command has no {%s} to sweep", keys[i].name);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(keys[i].name, keys[k].name))
				return sb_fail(STROBE_EINVAL, "--sweep %s= is given twice", keys[i].name);
		rows *= keys[i].count;
		if (rows > ROWS_MAX)
			return sb_fail(STROBE_EINVAL, "the sweep has more than %d rows", ROWS_MAX);
	}
	return 0;
}

static char **expand(char **command, const struct key *keys, size_t key_count, const size_t *at)
{
	char **words = NULL;
	size_t count = 0;

	for (char **w = command; *w; w++) {
		char *word = strdup(*w);

		for (size_t k = 0; k < key_count && word; k++) {
			bool found = false;
			char *next = substitute(word, keys[k].name, keys[k].values[at[k]], &found);

			free(word);
			word = next;
		}
		if (add_word(&words, &count, word)) {
			bench_plan_free_words(words);
			return NULL;
		}
	}
	return words;
}

static int name_row(
	struct sb_bench_row *row, const struct key *keys, size_t key_count, const size_t *at, char **command)
{
	struct sb_buf name = { 0 };

	row->frames_per_clip = row->peak_memory_bytes = NAN;
	if (!key_count) {
		row->name = bench_command_text(command);
		return row->name ? 0 : no_memory();
	}
	row->values = calloc(key_count + 1, sizeof *row->values);
	for (size_t k = 0; k < key_count && row->values; k++) {
		row->values[k] = strdup(keys[k].values[at[k]]);
		sb_buf_printf(&name, "%s%s=%s", k ? " " : "", keys[k].name, keys[k].values[at[k]]);
	}
	row->name = name.data;
	return row->name && row->values ? 0 : no_memory();
}

/* The last key turns fastest. */
static void advance(const struct key *keys, size_t key_count, size_t *at)
{
	for (size_t k = key_count; k-- > 0;) {
		if (++at[k] < keys[k].count)
			return;
		at[k] = 0;
	}
}

static int make_rows(const struct key *keys, size_t key_count, char **command, struct sb_bench *bench,
	struct bench_plan *plan)
{
	size_t rows = 1, *at = calloc(key_count + 1, sizeof *at);
	int err = 0;

	for (size_t k = 0; k < key_count; k++)
		rows *= keys[k].count;
	bench->rows = calloc(rows, sizeof *bench->rows);
	plan->commands = calloc(rows, sizeof *plan->commands);
	bench->keys = calloc(key_count + 1, sizeof *bench->keys);
	if (!at || !bench->rows || !plan->commands || !bench->keys)
		err = no_memory();
	for (size_t k = 0; k < key_count && !err; k++) {
		bench->keys[k] = strdup(keys[k].name);
		bench->key_count++;
	}
	for (size_t i = 0; i < rows && !err; i++) {
		plan->commands[i] = expand(command, keys, key_count, at);
		plan->count = bench->row_count = i + 1;
		if (!plan->commands[i])
			err = no_memory();
		else
			err = name_row(&bench->rows[i], keys, key_count, at, plan->commands[i]);
		advance(keys, key_count, at);
	}
	free(at);
	return err;
}

int bench_plan_sweep(const char *const *sweeps, size_t sweep_count, char **command, struct sb_bench *bench,
	struct bench_plan *out_plan)
{
	struct key *keys = calloc(sweep_count + 1, sizeof *keys);
	int err = keys ? 0 : no_memory();

	for (size_t i = 0; i < sweep_count && !err; i++)
		err = key_parse(sweeps[i], &keys[i]);
	if (!err)
		err = check_keys(keys, sweep_count, command);
	if (!err)
		err = make_rows(keys, sweep_count, command, bench, out_plan);
	for (size_t i = 0; i < sweep_count && keys; i++)
		key_done(&keys[i]);
	free(keys);
	return err;
}

/* ---- ladders ------------------------------------------------------------ */

/* Splits like a shell would, without being one. */
int bench_plan_split(const char *text, const char *path, int line, char ***out_words)
{
	char **words = NULL;
	size_t count = 0;
	int err = 0;

	for (;;) {
		struct sb_buf word = { 0 };
		char quote = 0;

		text += strspn(text, " \t\r");
		if (!*text)
			break;
		sb_buf_puts(&word, "");
		for (; *text && (quote || !strchr(" \t\r", *text)); text++) {
			if (*text == quote) {
				quote = 0;
			} else if (!quote && (*text == '\'' || *text == '"')) {
				quote = *text;
			} else {
				if (*text == '\\' && quote != '\'' && text[1])
					text++;
				sb_buf_putc(&word, *text);
			}
		}
		if (quote) {
			sb_buf_done(&word);
			bench_plan_free_words(words);
			return sb_fail(STROBE_EFORMAT, "%s:%d: a quote is not closed", path, line);
		}
		err = add_word(&words, &count, word.data);
		if (err) {
			bench_plan_free_words(words);
			return err;
		}
	}
	if (!words && !(words = calloc(1, sizeof *words)))
		return no_memory();
	*out_words = words;
	return 0;
}

static char **join(char **command, char **words)
{
	char **out = NULL;
	size_t count = 0;
	bool placed = false;
	int err = 0;

	for (char **w = command; w && *w && !err; w++) {
		if (strcmp(*w, "{variant}")) {
			err = add_word(&out, &count, strdup(*w));
			continue;
		}
		placed = true;
		for (char **v = words; *v && !err; v++)
			err = add_word(&out, &count, strdup(*v));
	}
	for (char **v = words; *v && !err && !placed; v++)
		err = add_word(&out, &count, strdup(*v));
	if (err) {
		bench_plan_free_words(out);
		return NULL;
	}
	return out;
}

static int add_variant(char *text, const char *path, int line, char **command, struct sb_bench *bench,
	struct bench_plan *plan)
{
	char *colon = strchr(text, ':'), *end = colon;
	char **words = NULL, **all;
	struct sb_bench_row *rows;
	char ***commands;
	int err;

	if (!colon || colon == text)
		return sb_fail(
			STROBE_EFORMAT, "%s:%d: expected 'NAME: WORDS...', found '%.40s'", path, line, text);
	while (end > text && strchr(" \t", end[-1]))
		end--;
	*end = 0;
	err = bench_plan_split(colon + 1, path, line, &words);
	if (err)
		return err;
	all = join(command, words);
	bench_plan_free_words(words);
	if (!all)
		return sb_fail(STROBE_EFORMAT, "%s:%d: variant '%s' has no command", path, line, text);
	rows = realloc(bench->rows, (bench->row_count + 1) * sizeof *rows);
	if (rows)
		bench->rows = rows;
	commands = realloc(plan->commands, (plan->count + 1) * sizeof *commands);
	if (commands)
		plan->commands = commands;
	if (!rows || !commands) {
		bench_plan_free_words(all);
		return no_memory();
	}
	plan->commands[plan->count++] = all;
	rows[bench->row_count] = (struct sb_bench_row){
		.name = strdup(text), .frames_per_clip = NAN, .peak_memory_bytes = NAN
	};
	return rows[bench->row_count++].name ? 0 : no_memory();
}

int bench_plan_ladder(const char *path, char **command, struct sb_bench *bench, struct bench_plan *out_plan)
{
	struct sb_buf file = { 0 };
	char *rest = NULL;
	int err = sb_buf_read_file(&file, path, LADDER_BYTES_MAX);

	bench->ladder = true;
	rest = file.data;
	for (int line = 1; rest && !err; line++) {
		char *text = strsep(&rest, "\n");

		text += strspn(text, " \t\r");
		if (*text && *text != '#')
			err = add_variant(text, path, line, command, bench, out_plan);
		if (bench->row_count > ROWS_MAX)
			err = sb_fail(STROBE_EFORMAT, "%s: more than %d variants", path, ROWS_MAX);
	}
	if (!err && !bench->row_count)
		err = sb_fail(STROBE_EFORMAT, "%s: no variants; a line is 'NAME: WORDS...'", path);
	sb_buf_done(&file);
	return err;
}

void bench_plan_done(struct bench_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		bench_plan_free_words(plan->commands[i]);
	free(plan->commands);
	memset(plan, 0, sizeof *plan);
}
