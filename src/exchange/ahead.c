/* A ring of blocks between one thread that reads and one that takes. */
#include "exchange/ahead.h"

#include "base/bytes16.h"
#include "base/error.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
	ssize_t size; /* 0: the end; -1: an error */
	uint64_t lines; /* newlines in it */
	char room[SB_JSONIN_UNREAD_MAX + SB_AHEAD_BLOCK_BYTES + SB_JSONIN_AFTER];
};

/* What is unread of the block before goes in front of them when it is lent. */
static char *bytes_of(struct block *block)
{
	return block->room + SB_JSONIN_UNREAD_MAX;
}

struct sb_ahead {
	sb_ahead_read_fn *read;
	void *self;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned first, count; /* of the blocks that are full */
	bool stop;
	char message[1024]; /* of the error that ended it */
	size_t used; /* of the first block */
	bool lent; /* the first block is */
	struct block blocks[SB_AHEAD_BLOCKS];
};

/* The block to fill, NULL when no more is wanted. */
static struct block *wait_for_room(struct sb_ahead *a)
{
	struct block *block = NULL;

	pthread_mutex_lock(&a->lock);
	while (a->count == SB_AHEAD_BLOCKS && !a->stop)
		pthread_cond_wait(&a->changed, &a->lock);
	if (!a->stop)
		block = &a->blocks[(a->first + a->count) % SB_AHEAD_BLOCKS];
	pthread_mutex_unlock(&a->lock);
	return block;
}

static void hand_over(struct sb_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->count++;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

static void *fill_blocks(void *self)
{
	struct sb_ahead *a = self;
	struct block *block;
	ssize_t size = 1;

	while (size > 0 && (block = wait_for_room(a))) {
		size = a->read(a->self, bytes_of(block), SB_AHEAD_BLOCK_BYTES);
		if (size < 0)
			snprintf(a->message, sizeof a->message, "%s", sb_error_message());
		block->size = size;
		block->lines = size > 0 ? sb_bytes16_count(bytes_of(block), bytes_of(block) + size, '\n') : 0;
		hand_over(a);
	}
	return NULL;
}

/* Signals are the other threads' business. */
static int start(struct sb_ahead *a)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&a->thread, NULL, fill_blocks, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

struct sb_ahead *sb_ahead_new(sb_ahead_read_fn *read, void *self)
{
	struct sb_ahead *a = malloc(sizeof *a);

	if (!a)
		return NULL;
	memset(a, 0, offsetof(struct sb_ahead, blocks));
	a->read = read;
	a->self = self;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	if (start(a)) {
		free(a);
		return NULL;
	}
	return a;
}

void sb_ahead_free(struct sb_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* The first block that is not lent. */
static struct block *wait_for_block(struct sb_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	while (a->count <= a->lent)
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return &a->blocks[(a->first + a->lent) % SB_AHEAD_BLOCKS];
}

static void give_back(struct sb_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->first = (a->first + 1) % SB_AHEAD_BLOCKS;
	a->count--;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	a->used = 0;
	a->lent = false;
}

ssize_t sb_ahead_read(struct sb_ahead *a, char *to, size_t size)
{
	struct block *block;
	size_t left;

	if (a->lent)
		give_back(a);
	block = wait_for_block(a);
	/* The last block stays: asked again, it gives the same answer. */
	if (block->size < 0)
		sb_fail(STROBE_EIO, "%s", a->message);
	if (block->size <= 0)
		return block->size;
	left = (size_t)block->size - a->used;
	if (size > left)
		size = left;
	memcpy(to, bytes_of(block) + a->used, size);
	a->used += size;
	if (size == left)
		give_back(a);
	return (ssize_t)size;
}

bool sb_ahead_lend(
	struct sb_ahead *a, const char *unread, size_t unread_size, struct sb_jsonin_lent *out_lent)
{
	struct block *block = wait_for_block(a);

	/* Not a block that was read in part. */
	if (block->size <= 0 || unread_size > SB_JSONIN_UNREAD_MAX || a->used)
		return false;
	if (unread_size)
		memcpy(bytes_of(block) - unread_size, unread, unread_size);
	if (a->lent)
		give_back(a);
	a->lent = true;
	*out_lent = (struct sb_jsonin_lent){ bytes_of(block), (size_t)block->size, block->lines };
	return true;
}
