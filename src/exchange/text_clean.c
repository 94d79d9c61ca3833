/* What terminals and loggers put around a message, and how to take it off. */
#include "exchange/text_clean.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* ---- terminal sequences ---- */

/* The length of the escape sequence at s; 1 for an escape that begins none. */
static size_t escape_size(const char *s)
{
	size_t i = 2;

	if (s[1] == '[') {
		while (s[i] && !(s[i] >= 0x40 && s[i] <= 0x7e))
			i++;
		return s[i] ? i + 1 : i;
	}
	if (s[1] == ']') { /* a title or a link, to BEL or ESC \ */
		while (s[i] && s[i] != '\a' && s[i] != '\x1b')
			i++;
		return s[i] == '\x1b' && s[i + 1] == '\\' ? i + 2 : s[i] ? i + 1 : i;
	}
	return s[1] ? 2 : 1;
}

void sb_text_strip_colours(char *line)
{
	char *to = line;

	for (const char *from = line; *from;) {
		if (*from == '\x1b') {
			from += escape_size(from);
		} else if (*from == '\b') {
			to -= to > line;
			from++;
		} else {
			*to++ = *from++;
		}
	}
	*to = 0;
}

/* ---- what stands before the message ---- */

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* "2026-01-01", "2026/01/01", "01-01-2026" */
static size_t date_size(const char *s)
{
	size_t a = digits(s), b, c;

	if ((a != 4 && a != 2) || !strchr("-/", s[a]))
		return 0;
	b = digits(s + a + 1);
	if (b != 2 || s[a + 1 + b] != s[a])
		return 0;
	c = digits(s + a + b + 2);
	return c == 2 || c == 4 ? a + b + c + 2 : 0;
}

/* "12:00", "12:00:00", "12:00:00,123", "12:00:00.123456Z", "…+01:00" */
static size_t time_size(const char *s)
{
	size_t n = digits(s), i = n;

	if (n < 1 || n > 2 || s[n] != ':' || digits(s + n + 1) != 2)
		return 0;
	for (i = n + 3; s[i] == ':' && digits(s + i + 1) == 2;)
		i += 3;
	if ((s[i] == '.' || s[i] == ',') && digits(s + i + 1))
		i += 1 + digits(s + i + 1);
	if (s[i] == 'Z')
		return i + 1;
	if ((s[i] == '+' || s[i] == '-') && digits(s + i + 1) >= 2) {
		i += 1 + digits(s + i + 1);
		if (s[i] == ':' && digits(s + i + 1) == 2)
			i += 3;
	}
	return i;
}

/* A date, a time, or both with a space or a T between them. */
static size_t stamp_size(const char *s)
{
	size_t date = date_size(s), time;

	if (!date)
		return time_size(s);
	time = s[date] == ' ' || s[date] == 'T' ? time_size(s + date + 1) : 0;
	return time ? date + 1 + time : date;
}

/* "host python[42]:" behind a syslog stamp */
static size_t process_size(const char *s)
{
	size_t host = strcspn(s, " "), name, pid;

	if (s[host] != ' ')
		return 0;
	name = host + 1 + strcspn(s + host + 1, " [:");
	pid = s[name] == '[' ? digits(s + name + 1) : 0;
	return pid && s[name + 1 + pid] == ']' && s[name + 2 + pid] == ':' ? name + 2 + pid : 0;
}

/* "Nov 15 13:00:00", as syslog and journalctl write it, with "host python[42]:" */
static size_t syslog_size(const char *s)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	size_t i = 3, day, time;

	for (const char *m = months; *m; m += 3) {
		if (strncmp(s, m, 3) || s[3] != ' ')
			continue;
		i += strspn(s + i, " ");
		day = digits(s + i);
		time = day && s[i + day] == ' ' ? time_size(s + i + day + 1) : 0;
		if (!time)
			return 0;
		i += day + 1 + time;
		day = s[i] == ' ' ? process_size(s + i + 1) : 0;
		return day ? i + 1 + day : i;
	}
	return 0;
}

static bool ends_token(char c)
{
	return !c || !(isalnum((unsigned char)c) || c == '_');
}

static size_t level_size(const char *s)
{
	static const char *const levels[] = { "TRACE", "DEBUG", "INFO", "NOTICE", "WARNING", "WARN", "ERROR",
		"CRITICAL", "FATAL", "SUCCESS", NULL };

	for (const char *const *level = levels; *level; level++) {
		size_t n = strlen(*level);

		if (!strncasecmp(s, *level, n) && ends_token(s[n]) &&
			(isupper((unsigned char)s[0]) || s[n] == ':' || s[n] == ']'))
			return n;
	}
	return 0;
}

/* "I1115 13:00:00.123456 4242 app.py:42] " */
static size_t glog_size(const char *s)
{
	size_t n;

	if (!strchr("IWEF", s[0]) || !s[0] || digits(s + 1) != 4 || s[5] != ' ' || !time_size(s + 6))
		return 0;
	n = strcspn(s, "]");
	return s[n] && n < 80 ? n + 1 : 0;
}

/* "[INFO]", "[2026-01-01 12:00:00]", "[rank0]", "[4242]" before another bracket or a colon */
static size_t bracket_size(const char *s)
{
	size_t n, after;

	if (*s != '[')
		return 0;
	n = strcspn(s, "]");
	if (!s[n] || n > 40)
		return 0;
	if (level_size(s + 1) == n - 1 || stamp_size(s + 1) == n - 1)
		return n + 1;
	if (!strncmp(s + 1, "rank", 4) || !strncmp(s + 1, "default", 7))
		return n + 1;
	/* a process number, where a time or a level follows it */
	after = n + 1 + strspn(s + n + 1, " ");
	return digits(s + 1) == n - 1 && s[after] == '[' &&
			       (level_size(s + after + 1) || stamp_size(s + after + 1))
		       ? n + 1
		       : 0;
}

typedef size_t prefix_fn(const char *s);
static prefix_fn *const prefixes[] = { stamp_size, syslog_size, level_size, glog_size, bracket_size, NULL };

static bool is_duration(const char *s)
{
	s += strspn(s, " ");
	return isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]));
}

/* Words that begin a message, not the name of a logger. */
static bool is_subject(const char *s, size_t size)
{
	static const char *const subjects[] = { "GPU", "CPU", "Video", NULL };

	for (const char *const *subject = subjects; *subject; subject++)
		if (strlen(*subject) == size && !strncmp(s, *subject, size))
			return true;
	return false;
}

/* "root:", "app.stages - ", "app:run:42 - ", "[app.stages]", "python[42]:" */
static size_t logger_size(const char *s)
{
	size_t n = 0, after;
	bool bracketed = *s == '[' && isalpha((unsigned char)s[1]);

	if (!bracketed && !isalpha((unsigned char)*s) && *s != '_' && *s != '<')
		return 0;
	while (isalnum((unsigned char)s[n]) || (s[n] && strchr("_.<>/[]", s[n])) ||
		(s[n] == ':' && isalnum((unsigned char)s[n + 1])) ||
		(s[n] == '-' && isalnum((unsigned char)s[n + 1])))
		n++;
	if (bracketed && n > 2 && s[n - 1] == ']')
		return n;
	after = n + strspn(s + n, " ");
	if (is_subject(s, n))
		return 0;
	if (s[n] == ':' && s[n + 1 + strspn(s + n + 1, " ")] && !is_duration(s + n + 1))
		return n + 1;
	if (after > n && (s[after] == '-' || s[after] == '|') && s[after + 1] == ' ')
		return after + 1;
	return 0;
}

/* "root:" of "INFO:root:message": the name ends at its first colon. */
static size_t short_logger_size(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || (s[n] && strchr("_.", s[n])))
		n++;
	return n && s[n] == ':' && s[n + 1] != ' ' && !is_duration(s + n + 1) ? n + 1 : 0;
}

static char *skip_separators(char *s)
{
	for (;;) {
		if (*s == ' ' || *s == '\t' || *s == ':' || *s == ',')
			s++;
		else if ((*s == '-' || *s == '|') && (s[1] == ' ' || s[1] == '|'))
			s++;
		else
			return s;
	}
}

static size_t prefix_size(const char *s)
{
	for (prefix_fn *const *prefix = prefixes; *prefix; prefix++) {
		size_t n = (*prefix)(s);

		if (n && (ends_token(s[n]) || s[n - 1] == ']'))
			return n;
	}
	return 0;
}

char *sb_text_message(char *line)
{
	char *s = line + strspn(line, " \t");
	bool seen = false, named = false;

	for (int parts = 0; parts < 8; parts++) {
		size_t n = prefix_size(s);
		bool glued = n && s[n] == ':' && s[n + 1] != ' ';

		if (n && !(is_duration(s + n) && level_size(s))) {
			seen = true;
			s = skip_separators(s + n);
			n = glued && !named && !prefix_size(s) ? short_logger_size(s) : 0;
			named |= n > 0;
			s += n;
			continue;
		}
		n = seen && !named ? logger_size(s) : 0;
		if (!n)
			break;
		named = true;
		s = skip_separators(s + n);
	}
	return seen ? s : line;
}

bool sb_text_is_prose(const char *line)
{
	const char *open = strchr(line, '['), *at = line;
	int words = 0;

	while (open && at < open) {
		const char *word = at;

		while (at < open && (isalpha((unsigned char)*at) || *at == '\'' || *at == ','))
			at++;
		if (at == word || (*at != ' ' && at < open))
			return false;
		if (!islower((unsigned char)word[at - word > 1 ? 1 : 0])) /* "INFO worker [3b]" */
			return false;
		words++;
		at += strspn(at, " ");
	}
	return words >= 2;
}

/* "J. ", "J.-P. ", "J. P. ": how many bytes of initials s begins with. */
static size_t initials(const char *s)
{
	size_t n = 0;

	while (isupper((unsigned char)s[n]) && s[n + 1] == '.') {
		n += 2;
		n += strspn(s + n, " -");
	}
	return n;
}

/* "Doe, ": how many bytes of a surname with its comma s begins with. */
static size_t surname(const char *s)
{
	size_t n = isupper((unsigned char)*s) ? 1 : 0;

	while (n &&
		(isalpha((unsigned char)s[n]) || s[n] == '-' || s[n] == '\'' || (unsigned char)s[n] >= 0x80))
		n++;
	return n > 1 && s[n] == ',' && s[n + 1] == ' ' ? n + 2 : 0;
}

static bool ends_with_year(const char *name)
{
	size_t n = strlen(name);

	while (n && strchr(".,)", name[n - 1]))
		n--;
	if (n < 5 || isalnum((unsigned char)name[n - 5]))
		return false;
	return (!strncmp(name + n - 4, "19", 2) || !strncmp(name + n - 4, "20", 2)) &&
	       strspn(name + n - 4, "0123456789") >= 4;
}

/* Begins as one with its authors does: "J. Doe, …", "J. Doe and …", "Doe, J. …". */
static bool begins_with_authors(const char *name)
{
	size_t first = initials(name), last = surname(name);

	if (last && initials(name + last))
		return true;
	return first && isupper((unsigned char)name[first]) &&
	       (strchr(name, ',') || strchr(name, '"') || strstr(name, " and ") || ends_with_year(name));
}

static bool is_quoted_with_year(const char *name)
{
	bool quoted = strchr(name, '"') || strstr(name, "\xe2\x80\x9c"); /* a left double quotation mark */

	return quoted && ends_with_year(name);
}

bool sb_text_is_reference(const char *code, const char *name)
{
	static const char *const marks[] = { " et al", "doi:", "arXiv", ", pp.", ", vol." };

	if (code[strspn(code, "0123456789")])
		return false;
	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
		if (strstr(name, marks[i]))
			return true;
	return begins_with_authors(name) || is_quoted_with_year(name) || !strncmp(name, "http://", 7) ||
	       !strncmp(name, "https://", 8);
}
