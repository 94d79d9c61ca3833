/* A rank that the program itself reports: processes of multiprocessing have no launcher's environment, but
 * say their rank when they join the others. */
#include "format/run_keys.h"
#include "record/module.h"
#include "record/put.h"
#include "record/recorder.h"
#include "record/session.h"

#include <stdbool.h>

/* A rank from the launcher takes precedence. */
static bool write_rank(int rank, int local_rank, int world_size)
{
	struct sb_writer *w = sb_writer_enter();
	struct sb_file_header *h = w ? sb_header() : NULL;
	bool told = h && h->rank < 0;

	if (told) {
		h->world_size = world_size;
		h->local_rank = local_rank;
		__atomic_store_n(&h->rank, rank, __ATOMIC_RELEASE);
	}
	if (w)
		sb_writer_leave(w);
	return told;
}

void strobe_rank(int rank, int local_rank, int world_size, const char *backend)
{
	if (!sb_session_active())
		return;
	if (backend && *backend)
		sb_keep_meta_string(SB_META_RUN, SB_RUN_BACKEND, backend);
	if (world_size < 2 || rank < 0 || rank >= world_size || !write_rank(rank, local_rank, world_size))
		return;
	for (const struct sb_module *const *m = sb_modules; *m; m++)
		if ((*m)->ranked)
			(*m)->ranked(&REC->settings, local_rank);
}
