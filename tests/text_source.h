/* A text that the JSON reader gets in small reads, so that every token straddles one somewhere. */
#ifndef TESTS_TEXT_SOURCE_H
#define TESTS_TEXT_SOURCE_H

#include <string.h>
#include <sys/types.h>

struct text_source {
	const char *at;
	size_t left, step;
};

static ssize_t text_source_read(void *self, char *to, size_t size)
{
	struct text_source *t = self;
	size_t n = t->left < size ? t->left : size;

	n = n < t->step ? n : t->step;
	memcpy(to, t->at, n);
	t->at += n;
	t->left -= n;
	return (ssize_t)n;
}

#endif
