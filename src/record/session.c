/* The session's life. */
#include "strobe.h"

#include "base/error.h"

const char *strobe_error(void)
{
	return sb_error_message();
}
