/* Stages with codes, attributes and stages inside; zones on a second thread; an end that ends two. */
#include "strobe.h"

#include <pthread.h>
#include <stddef.h>

static void raft(void)
{
	STROBE_STAGE("3b", "RAFT optical flow");

	strobe_attr_int("iters", 12);
	strobe_attr_int("batch", 4);
}

static void *other_thread(void *unused)
{
	STROBE_ZONE("beside it");

	return unused;
}

int main(void)
{
	pthread_t thread;
	uint32_t outer;

	strobe_start(NULL);
	{
		STROBE_ZONE("ProPainter");

		raft();
	}
	strobe_zone_begin_code("Main inference", "4f");
	{
		STROBE_STAGE("4f.1", "Text encode");
	}
	strobe_zone_end();
	outer = strobe_name("outer", NULL);
	strobe_zone_begin_id(outer);
	strobe_zone_begin("never ended");
	strobe_zone_end_id(outer);
	strobe_generation_begin("video", &(struct strobe_generation){ .frames = 81 });
	strobe_generation_end();
	if (!pthread_create(&thread, NULL, other_thread, NULL))
		pthread_join(thread, NULL);
	strobe_stop();
	return 0;
}
