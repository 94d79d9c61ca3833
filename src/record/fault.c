/* SIGBUS on strobe's own mapping. */
#include "record/fault.h"

#include "record/put.h"
#include "record/recorder.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static struct sigaction before;
static size_t page_bytes;

/* Private memory from this offset on, once: a second thread that faults at the same time
 * finds the first one's pages, or faults again until they are there. */
static void replace_from(struct sb_extent *x, size_t offset)
{
	size_t upto = atomic_load(&x->private_from);

	while (offset < upto)
		if (atomic_compare_exchange_weak_explicit(
			    &x->private_from, &upto, offset, memory_order_seq_cst, memory_order_seq_cst)) {
			size_t end = upto == SIZE_MAX ? x->mapped_bytes : upto;

			mmap(x->base + offset, end - offset, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
			return;
		}
}

/* Past what was private when it happened: the file has grown since and was cut again. */
static void replace_page(struct sb_extent *x, size_t offset)
{
	mmap(x->base + offset, page_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static bool is_ours(const siginfo_t *info)
{
	const struct sb_extent *x = &REC->extent;
	const char *at = info->si_addr;

	return info->si_code > 0 && x->base && at >= x->base && at < x->base + x->mapped_bytes;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };

	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(number, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(number);
	} else if (info->si_code > 0 || before.sa_handler == SIG_DFL) {
		sigaction(number, &usual, NULL); /* the store is tried again, and ends the program */
		if (info->si_code <= 0)
			raise(number);
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	struct sb_extent *x = &REC->extent;
	int saved = errno;
	size_t offset;

	if (!is_ours(info)) {
		pass_on(number, info, context);
		return;
	}
	offset = (size_t)((char *)info->si_addr - x->base) & ~(page_bytes - 1);
	if (offset < atomic_load(&x->private_from))
		replace_from(x, offset);
	else if (atomic_fetch_add(&x->refault_count, 1) > 0)
		replace_page(x, offset);
	errno = saved;
}

void sb_fault_catch(void)
{
	struct sigaction ours = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &now) || (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault))
		return;
	before = now;
	sigaction(SIGBUS, &ours, NULL);
}

void sb_fault_release(void)
{
	struct sigaction now;

	if (!sigaction(SIGBUS, NULL, &now) && now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
		sigaction(SIGBUS, &before, NULL);
}

/* Every chunk there counts as full: what it held when it was cut off is not known. */
void sb_fault_tell(void)
{
	struct sb_extent *x = &REC->extent;
	size_t from = atomic_load(&x->private_from);
	uint32_t first;

	if (from == SIZE_MAX)
		return;
	first = from <= SB_FILE_HEADER_BYTES ? 0 : (uint32_t)((from - SB_FILE_HEADER_BYTES) / x->chunk_bytes);
	if (atomic_load(&x->next_chunk) > first)
		sb_lost(SB_LOST_CUT, (atomic_load(&x->next_chunk) - first) *
					     ((x->chunk_bytes - sizeof(struct sb_chunk_header)) / 8));
}
