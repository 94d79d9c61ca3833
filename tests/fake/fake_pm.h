/* The part of the CUPTI for tests that samples counters: strict about the order of calls, and abort()s
 * where the real one crashes (what was unmade is unmade again). Samples come when the test makes them. */
#ifndef FAKE_PM_H
#define FAKE_PM_H

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_PM_VALUES = 4 }; /* SM, tensor, bytes of DRAM read and written; of what else is asked for: 0 */

enum fake_pm_trouble {
	FAKE_PM_QUIET_OVERFLOW =
		1, /* its buffer was full: the next decode says so, and that all went well, and that there is more */
	FAKE_PM_ALWAYS_FULL = 2, /* its buffer is full whenever it is read */
	FAKE_PM_NO_START = 4 /* it is enabled and does not start */
};

struct fake_pm {
	void (*reset)(void);
	/* A sample of a device that samples; others make none. */
	void (*sample)(int device, uint64_t start, uint64_t end, double sm_percent, double tensor_percent,
		double read_bytes, double write_bytes);
	/* Its buffer is full: what it has is lost, and the device cannot be started before it was disabled. */
	void (*overflow)(int device);
	void (*occupy)(int device, bool by_another); /* another profiler has the hardware */
	void (*pass_limit)(uint32_t metrics); /* more of them take two passes */
	void (*know)(const char *metric, bool known); /* a name that this chip lacks */
	void (*time_trigger)(bool possible);
	bool (*sampling)(int device);
	uint32_t (*held)(void); /* devices and host objects not given back */
	uint32_t (*mistakes)(void); /* calls in a wrong order or with wrong sizes */
	uint64_t (*started)(int device); /* how often */
	void (*trouble)(int device, unsigned troubles); /* what is not named is well */
};

typedef const struct fake_pm *(*fake_pm_function)(void);

#endif
