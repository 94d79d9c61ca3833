/* Joins the instances of the library in a process: the first one loaded leaves its
 * recorder and names where all others find them. Instances in an executable that
 * exports nothing cannot join: they write a file of their own. */
#include "record/instances.h"

#include "record/recorder.h"

struct strobe_shared_ {
	struct sb_recorder *_Atomic recorder;
	struct sb_name_table *_Atomic names;
};
_Static_assert(sizeof(struct strobe_shared_) == 16, "as shared.c has it");
extern struct strobe_shared_ strobe_shared_1_ __attribute__((visibility("default")));

void sb_instances_join(void)
{
	struct sb_recorder *first = NULL;
	struct sb_name_table *first_names = NULL;

	if (!atomic_compare_exchange_strong(&strobe_shared_1_.recorder, &first, sb_recorder_used))
		sb_recorder_used = first;
	if (!atomic_compare_exchange_strong(&strobe_shared_1_.names, &first_names, sb_names_used))
		sb_names_used = first_names;
}
