/* --fail-above and --tolerance: when a change counts, and when it fails. */
#ifndef CLI_GATE_ARG_H
#define CLI_GATE_ARG_H

#include "command.h"

#include "compare/compare.h"

/* Both return 0, or the exit code after complaining. Free gates with sb_gates_free. */
int gate_arg_read(const struct args *args, struct sb_gate **out_gates, size_t *out_count);
int gate_arg_tolerance(const struct args *args, struct sb_tolerance *out_tolerance);

#endif
