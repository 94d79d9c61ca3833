/* See scratch.h. */
#include "base/scratch.h"

#include "base/error.h"
#include "base/extsort.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

int sb_scratch_make(const char *where, const char *what, char *out_folder, size_t size)
{
	const char *in = where ? where : sb_extsort_folder();

	if ((size_t)snprintf(out_folder, size, "%s/%sstrobe-%s-XXXXXX", in, where ? "." : "", what) >= size)
		return sb_fail(STROBE_EINVAL, "'%s': the name is too long", in);
	return mkdtemp(out_folder) ? 0 : sb_fail_errno("cannot make a folder in '%s'", in);
}

static int forget(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

void sb_scratch_remove(const char *folder)
{
	if (*folder)
		nftw(folder, forget, 16, FTW_DEPTH | FTW_PHYS);
}
