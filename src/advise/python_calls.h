/* What a line of Python source calls, by name. */
#ifndef SB_ADVISE_PYTHON_CALLS_H
#define SB_ADVISE_PYTHON_CALLS_H

#include <stdbool.h>

enum sb_calls {
	SB_CALLS_NOTHING, /* a sum, an assignment */
	SB_CALLS_PYTHON, /* nothing but Python's own: rows.append(float(value)), json.dumps(state) */
	SB_CALLS_OTHERS /* torch's, a module's, a function of the program's */
};
enum sb_calls sb_python_calls(const char *text);
/* How many of its calls turn a plain value into a number: "float(sigmas[i])", not "int(count(frames))". */
int sb_python_conversions(const char *text);
/* True if it turns anything into a number: "print(float(features.mean()))", not "features.float()". */
bool sb_python_converts(const char *text);

#endif
