/* The thread's last error message. Not a log: nothing here prints. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[768];

int sb_fail(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
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

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	used = strlen(message);
	snprintf(message + used, sizeof message - used, ": %s", strerror(error));
	return code_of_errno(error);
}

const char *sb_error_message(void)
{
	return message;
}
