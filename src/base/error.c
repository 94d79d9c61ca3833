/* The thread's last error message. Not a log: nothing here prints. */
#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 768 };

/* A pointer, not the text: a library that is loaded late may get only a few hundred bytes of static thread
 * storage. */
static _Thread_local char *message;
static pthread_key_t message_key;
static pthread_once_t message_once = PTHREAD_ONCE_INIT;

static void forget(void *text)
{
	free(text);
	message = NULL; /* destructors that run after this one may fail again */
}

static void make_key(void)
{
	pthread_key_create(&message_key, forget);
}

static bool make_message(void)
{
	if (message)
		return true;
	pthread_once(&message_once, make_key);
	message = calloc(1, MESSAGE_BYTES);
	pthread_setspecific(message_key, message);
	return message != NULL;
}

int sb_fail(int code, const char *format, ...)
{
	va_list args;

	if (!make_message())
		return code;
	va_start(args, format);
	vsnprintf(message, MESSAGE_BYTES, format, args);
	va_end(args);
	return code;
}

static int code_of_errno(int error)
{
	switch (error) {
	case ENOMEM: return STROBE_ENOMEM;
	case ENOENT: return STROBE_ENOENT;
	case EACCES:
	case EPERM: return STROBE_EPERM;
	case ENOSPC:
	case EDQUOT: return STROBE_ENOSPC;
	case EBUSY: return STROBE_EBUSY;
	default: return STROBE_EIO;
	}
}

int sb_fail_errno(const char *format, ...)
{
	int error = errno;
	va_list args;
	size_t used;

	if (!make_message())
		return code_of_errno(error);
	va_start(args, format);
	vsnprintf(message, MESSAGE_BYTES, format, args);
	va_end(args);
	used = strlen(message);
	snprintf(message + used, MESSAGE_BYTES - used, ": %s", strerror(error));
	return code_of_errno(error);
}

const char *sb_error_message(void)
{
	return message ? message : "";
}
