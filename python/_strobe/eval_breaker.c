/* CPython 3.9 to 3.12 notice a pending call that another thread adds only when the main thread takes the
 * GIL again, that is, where it gave the GIL away. A sampler must not prefer those places. So the flag that
 * the interpreter checks between instructions is found, once, by watching it. */
#include "sampler.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 256, FIXED_IN = 0x030d }; /* 3.13 sets the flag itself */

static _Atomic int *flag;

/* 0x030b: 3.11. Of the interpreter it runs in, not of the headers. */
static int running_version(void)
{
	int major = 0, minor = 0;

	sscanf(Py_GetVersion(), "%d.%d", &major, &minor);
	return major << 8 | minor;
}

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

/* The first int of the interpreter's state that becomes 1 with a pending call, and 0 when it is
 * done. calls_to_do, which does the same, lies behind it in all four versions. */
static int *watch(int *state)
{
	int before[WORDS], between[WORDS];

	memcpy(before, state, sizeof before);
	if (Py_AddPendingCall(nothing, NULL))
		return NULL;
	memcpy(between, state, sizeof between);
	if (Py_MakePendingCalls())
		return NULL;
	for (int i = 0; i < WORDS; i++)
		if (!before[i] && between[i] == 1 && !state[i])
			return &state[i];
	return NULL;
}

void eval_breaker_find(void)
{
	int *state = (int *)(void *)PyInterpreterState_Get(), *found;

	if (flag || running_version() >= FIXED_IN)
		return;
	found = watch(state);
	if (found && found == watch(state))
		flag = (_Atomic int *)found;
}

void eval_breaker_set(void)
{
	if (flag)
		atomic_store_explicit(flag, 1, memory_order_relaxed);
}

bool eval_breaker_works(void)
{
	return flag || running_version() >= FIXED_IN;
}
