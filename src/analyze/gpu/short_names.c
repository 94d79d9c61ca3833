/* Reads a demangled name part by part and keeps what tells kernels apart. Namespaces, parameters, wrappers, index types
 * and repetitions say nothing. */
#include "analyze/gpu/short_names.h"

#include "analyze/gpu/name_words.h"
#include "base/error.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MOST 24u /* of one list; further ones are left out */
#define SHOWN_MOST 5u
#define DEEPEST 40
#define WORD_SIZE 128u
#define SCRATCH 8192u
#define TEXT_SIZE (SB_SHORT_NAME_SIZE - 3) /* "…" behind it */

struct part {
	enum sb_word_kind kind;
	const char *text; /* in the reader's scratch */
};

struct reader {
	const char *at;
	bool whole, failed;
	size_t used;
	char scratch[SCRATCH];
};

/* ---- reading ---- */

static bool is_word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '~' || (c & 0x80);
}

static const char *keep(struct reader *r, const char *text)
{
	size_t size = strlen(text) + 1;
	char *kept = r->scratch + r->used;

	if (size > SCRATCH - r->used) {
		r->failed = true;
		return "";
	}
	memcpy(kept, text, size);
	r->used += size;
	return kept;
}

/* Moves behind the bracket that closes the one here; to the end of a name that was cut. */
static void skip_brackets(struct reader *r)
{
	char open = *r->at, close = open == '(' ? ')' : open == '<' ? '>' : open == '{' ? '}' : ']';
	size_t deep = 0;

	for (; *r->at; r->at++) {
		deep += *r->at == open;
		if (*r->at == close && !--deep) {
			r->at++;
			return;
		}
	}
}

static bool take(struct reader *r, const char *text)
{
	size_t size = strlen(text);

	if (strncmp(r->at, text, size))
		return false;
	r->at += size;
	return true;
}

static void skip_qualifiers(struct reader *r)
{
	for (;;) {
		while (*r->at == ' ' || *r->at == '&' || *r->at == '*')
			r->at++;
		if (strncmp(r->at, "const", 5) || is_word_character(r->at[5]))
			return;
		r->at += 5;
	}
}

static void read_word(struct reader *r, char out[WORD_SIZE])
{
	size_t n = 0;

	for (; is_word_character(*r->at); r->at++)
		if (n + 1 < WORD_SIZE)
			out[n++] = *r->at;
	out[n] = 0;
	/* "unsigned long long" */
	while (*r->at == ' ' &&
		(!strncmp(out, "unsigned", 8) || !strncmp(out, "signed", 6) || !strncmp(out, "long", 4)) &&
		(!strncmp(r->at, " int", 4) || !strncmp(r->at, " long", 5) || !strncmp(r->at, " char", 5) ||
			!strncmp(r->at, " short", 6)) &&
		n + 2 < WORD_SIZE) {
		out[n++] = *r->at++;
		while (is_word_character(*r->at) && n + 1 < WORD_SIZE)
			out[n++] = *r->at++;
		out[n] = 0;
	}
}

static void skip_operator(struct reader *r)
{
	while (*r->at == ' ')
		r->at++;
	if (!take(r, "()"))
		r->at += strcspn(r->at, "(");
	if (*r->at == '(')
		skip_brackets(r);
}

/* ---- lists ---- */

/* Whether a part says something that those before it don't. */
static bool tells(const struct reader *r, const struct part *parts, size_t count, size_t at)
{
	const struct part *p = &parts[at];
	bool typed = false, again = false, named = false;

	if (p->kind == SB_WORD_NOTHING || r->whole)
		return p->kind != SB_WORD_NOTHING;
	for (size_t i = 0; i < count; i++) {
		typed |= parts[i].kind == SB_WORD_SCALAR || parts[i].kind == SB_WORD_NAMED;
		again |= i < at && p->kind != SB_WORD_NUMBER && parts[i].kind == p->kind &&
			 !strcmp(parts[i].text, p->text);
		named |= i < at && parts[i].kind == SB_WORD_NAMED;
	}
	if (p->kind == SB_WORD_SWITCH || again || (p->kind == SB_WORD_INDEX && typed))
		return false;
	/* a second operation with much to it is how the first is carried out */
	return p->kind != SB_WORD_NAMED || !named || !strchr(p->text, ',');
}

/* "MulFunctor<float>" among floats is "MulFunctor". */
static size_t told_size(const struct reader *r, const struct part *parts, size_t at)
{
	const char *open = strchr(parts[at].text, '<');

	for (size_t i = 0; open && i < at && !r->whole; i++) {
		size_t n = strlen(parts[i].text);

		if (parts[i].kind == SB_WORD_SCALAR && !strncmp(open + 1, parts[i].text, n) &&
			!strcmp(open + 1 + n, ">"))
			return (size_t)(open - parts[at].text);
	}
	return strlen(parts[at].text);
}

/* At most length bytes of text, as far as there is room. */
static void append(char *out, size_t size, const char *text, size_t length)
{
	size_t used = strlen(out), room = size - 1 - used, n = strnlen(text, length);

	n = n < room ? n : room;
	memcpy(out + used, text, n);
	out[used + n] = 0;
}

static void append_list(
	const struct reader *r, char *out, size_t size, const struct part *parts, size_t count)
{
	size_t shown = 0;

	for (size_t i = 0; i < count && (shown < SHOWN_MOST || r->whole); i++) {
		if (!tells(r, parts, count, i))
			continue;
		append(out, size, shown++ ? ", " : "<", 2);
		append(out, size, parts[i].text, told_size(r, parts, i));
	}
	if (shown)
		append(out, size, ">", 1);
}

/* Sizes in three dimensions; "": of nothing, or 1 each. */
static void tuple_text(const struct part *parts, size_t count, char *out, size_t size)
{
	bool larger = false;

	out[0] = 0;
	for (size_t i = 0; i < count; i++) {
		if (parts[i].kind != SB_WORD_NUMBER) {
			out[0] = 0;
			return;
		}
		larger |= strcmp(parts[i].text, "1") != 0;
		append(out, size, i ? "x" : "", 1);
		append(out, size, parts[i].text, strlen(parts[i].text));
	}
	if (!larger)
		out[0] = 0;
}

/* ---- names ---- */

struct name {
	char space[WORD_SIZE]; /* "flash::"; of the kernel itself */
	char word[WORD_SIZE]; /* the last one */
	struct part parts[PARTS_MOST]; /* of its list, and behind it what a lambda takes */
	size_t count;
	struct part lambda;
};

static struct part read_name(struct reader *r, int depth, bool head);

static void read_list(struct reader *r, int depth, struct name *n)
{
	const char *begin = r->at++;

	n->count = 0;
	if (depth >= DEEPEST) {
		r->at = begin;
		skip_brackets(r);
		return;
	}
	while (*r->at && *r->at != '>' && !r->failed) {
		struct part p = read_name(r, depth + 1, false);

		if (n->count < PARTS_MOST)
			n->parts[n->count++] = p;
		if (!take(r, ",") && *r->at && *r->at != '>')
			r->failed = true;
	}
	take(r, ">"); /* a name that was cut has none */
}

/* "{lambda(float, float)#1}", "[lambda(float) (instance 1)]": what it takes is what a function of one name is made for. */
static void read_lambda(struct reader *r, int depth, struct name *n)
{
	const char *inside = r->at + 1, *behind;

	skip_brackets(r);
	behind = r->at;
	if (r->failed || depth >= DEEPEST || strncmp(inside, "lambda(", 7) || inside[7] == ')')
		return;
	r->at = inside + 7;
	n->lambda = read_name(r, depth + 1, false);
	r->at = behind;
}

static void next_word(struct reader *r, struct name *n, bool head)
{
	char word[WORD_SIZE];

	read_word(r, word);
	if (!strcmp(word, "operator")) {
		skip_operator(r);
		return;
	}
	if (n->word[0] && sb_name_is_member(word))
		return;
	if (head && n->word[0] && !sb_name_is_dull(n->word)) {
		append(n->space, sizeof n->space, n->word, WORD_SIZE);
		append(n->space, sizeof n->space, "::", 2);
	}
	memcpy(n->word, word, sizeof word);
	n->count = 0;
	n->lambda.kind = SB_WORD_NOTHING;
}

static struct part number(struct reader *r)
{
	char word[WORD_SIZE];
	size_t n;

	read_word(r, word);
	n = strspn(word, "0123456789");
	if (n && n == strcspn(word, "uUlL"))
		word[n] = 0; /* "128ul" */
	return (struct part){ SB_WORD_NUMBER, keep(r, word) };
}

/* The first operation of a list. */
static const char *operation(const struct name *n)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->parts[i].kind == SB_WORD_NAMED)
			return n->parts[i].text;
	return NULL;
}

/* The one thing that tells in a list, beside sizes. */
static const char *only_operation(const struct reader *r, const struct name *n)
{
	size_t told = 0;

	for (size_t i = 0; i < n->count; i++)
		told += n->parts[i].kind != SB_WORD_NUMBER && tells(r, n->parts, n->count, i);
	return told == 1 ? operation(n) : NULL;
}

/* "vectorized_elementwise CUDAFunctor_add<bf16>" where nothing but the operation tells, else "softmax_warp_forward<bf16, float, 10>". */
static void kernel_text(const struct reader *r, const struct name *n, char *out, size_t size)
{
	const char *does = r->whole ? NULL : only_operation(r, n);
	size_t length = strlen(n->word);

	append(out, size, n->space, WORD_SIZE);
	if (!does) {
		append(out, size, n->word, length);
		append_list(r, out, size, n->parts, n->count);
		return;
	}
	if (length > 7 && !strcmp(n->word + length - 7, "_kernel"))
		length -= 7;
	append(out, size, n->word, length);
	append(out, size, " ", 1);
	append(out, size, does, strlen(does));
}

static struct part name_part(struct reader *r, struct name *n, size_t mark, bool head)
{
	char text[TEXT_SIZE] = "";
	const char *word = n->word;
	enum sb_word_kind kind = n->count ? SB_WORD_NAMED : sb_name_type(&word);
	struct part p = { kind, NULL };

	if (sb_name_is_wrapper(word) && operation(n)) {
		append(text, sizeof text, operation(n), sizeof text);
	} else if (!strcmp(word, "true") || !strcmp(word, "false")) {
		p.kind = SB_WORD_SWITCH;
		append(text, sizeof text, word, WORD_SIZE);
	} else if (!strcmp(word, "C") && n->count == 1) {
		p.kind = n->parts[0].kind;
		append(text, sizeof text, n->parts[0].text, WORD_SIZE);
	} else if (!strcmp(word, "tuple")) {
		tuple_text(n->parts, n->count, text, sizeof text);
		p.kind = text[0] ? SB_WORD_NUMBER : SB_WORD_NOTHING;
	} else if (sb_name_is_noise(word)) {
		p.kind = SB_WORD_NOTHING;
	} else if (kind != SB_WORD_NAMED) {
		append(text, sizeof text, word, WORD_SIZE);
	} else {
		if (!n->count && (n->lambda.kind == SB_WORD_SCALAR || n->lambda.kind == SB_WORD_INDEX))
			n->parts[n->count++] = n->lambda;
		if (head) {
			kernel_text(r, n, text, sizeof text);
		} else {
			append(text, sizeof text, word, WORD_SIZE);
			append_list(r, text, sizeof text, n->parts, n->count);
		}
	}
	r->used = mark;
	p.text = keep(r, text);
	return p;
}

/* Whether the component read so far ends the name: "," or ">" of a list follows, or the end. */
static bool ends(const struct reader *r)
{
	return !*r->at || *r->at == ',' || *r->at == '>' || *r->at == ')';
}

static struct part read_name(struct reader *r, int depth, bool head)
{
	struct name n = { .count = 0 };
	size_t mark = r->used;

	while (!r->failed) {
		bool first = !n.word[0];

		if (!head || !first)
			skip_qualifiers(r);
		if (take(r, "::") || take(r, "(anonymous namespace)") || take(r, "'lambda'"))
			continue;
		if (ends(r))
			break;
		if (*r->at == '(')
			skip_brackets(r); /* parameters, or a cast: "(int)4" */
		else if (*r->at == '{' || *r->at == '[')
			read_lambda(r, depth, &n);
		else if (*r->at == '<' && !first)
			read_list(r, depth, &n);
		else if (first && !head && (*r->at == '-' || isdigit((unsigned char)*r->at))) {
			r->at += *r->at == '-';
			return number(r);
		} else if (is_word_character(*r->at))
			next_word(r, &n, head);
		else
			r->failed = true;
		/* "Memcpy HtoD" is no name of C++ */
		if (head && *r->at == ' ' && strncmp(r->at, " const", 6) && strncmp(r->at, " [clone", 7))
			r->failed = true;
		if (head && !strncmp(r->at, " [clone", 7))
			break;
	}
	if (!n.word[0])
		return (struct part){ SB_WORD_NOTHING, "" };
	return name_part(r, &n, mark, head);
}

bool sb_kernel_short_name(const char *kernel, bool whole, char out[SB_SHORT_NAME_SIZE])
{
	struct reader *r;
	struct part p;
	bool found;

	if (!strncmp(kernel, "void ", 5))
		kernel += 5;
	else if (!kernel[strcspn(kernel, "<(:")])
		return false;
	r = malloc(sizeof *r);
	if (!r)
		return false;
	*r = (struct reader){ .at = kernel, .whole = whole };
	p = read_name(r, 0, true);
	found = !r->failed && p.kind == SB_WORD_NAMED && strcmp(p.text, kernel) && (!*r->at || *r->at == ' ');
	if (found)
		snprintf(out, SB_SHORT_NAME_SIZE, "%s%s", p.text, strlen(p.text) + 1 == TEXT_SIZE ? "…" : "");
	free(r);
	return found;
}

/* ---- those of a run ---- */

struct named {
	size_t kernel, at; /* at: in text */
	bool again; /* another one has this name */
};

static int by_text(const void *a, const void *b, void *text)
{
	return strcmp(
		(char *)text + ((const struct named *)a)->at, (char *)text + ((const struct named *)b)->at);
}

int sb_kernel_short_names(const char *const *kernels, size_t count, struct sb_buf *text, size_t *out_at)
{
	struct named *all = malloc((count + 1) * sizeof *all);
	char name[SB_SHORT_NAME_SIZE];
	size_t n = 0;

	if (!all)
		return sb_fail(STROBE_ENOMEM, "no memory for the names of kernels");
	for (size_t i = 0; i < count; i++) {
		out_at[i] = SIZE_MAX;
		if (!sb_kernel_short_name(kernels[i], false, name))
			continue;
		all[n++] = (struct named){ i, out_at[i] = text->size, false };
		sb_buf_add(text, name, strlen(name) + 1);
	}
	if (!sb_buf_failed(text))
		qsort_r(all, n, sizeof *all, by_text, text->data);
	for (size_t i = 1; i < n && !sb_buf_failed(text); i++)
		if (!by_text(&all[i - 1], &all[i], text->data))
			all[i - 1].again = all[i].again = true;
	for (size_t i = 0; i < n; i++) {
		if (!all[i].again || !sb_kernel_short_name(kernels[all[i].kernel], true, name))
			continue;
		out_at[all[i].kernel] = text->size;
		sb_buf_add(text, name, strlen(name) + 1);
	}
	free(all);
	return sb_buf_failed(text) ? sb_fail(STROBE_ENOMEM, "no memory for the names of kernels") : 0;
}
