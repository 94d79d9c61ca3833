/* What a run is called, and the command that it records. */
#ifndef CLI_RUN_NAME_H
#define CLI_RUN_NAME_H

#include <stddef.h>

/* "torchrun --nproc 2 wan_t2v.py" is called wan_t2v, through "python -m" too; "python -m pkg.demo" is called pkg.demo. */
void run_name_after(char **command, char *out, size_t size);
/* "mpirun", "srun"…: what the command calls a launcher of ranks that is no Python program; NULL: it is none. */
const char *run_name_launcher(char **command);
/* Records the command as it could be typed again, without its credentials. */
void run_record_command(char **command);

#endif
