/* GPUs: a table of vendors, sampled by a thread of their own, because a driver call may
 * never return. */
#ifndef SB_MONITOR_GPUS_H
#define SB_MONITOR_GPUS_H

#include "monitor/source.h"

#include <stdbool.h>
#include <stdint.h>

enum sb_gpus_column {
	SB_GPUS_MEMORY_USED,
	SB_GPUS_MEMORY_TOTAL,
	SB_GPUS_UTILIZATION,
	SB_GPUS_MEMORY_UTILIZATION,
	SB_GPUS_TEMPERATURE,
	SB_GPUS_POWER,
	SB_GPUS_ENERGY, /* made of power by gpus.c */
	SB_GPUS_SM_CLOCK,
	SB_GPUS_MEMORY_CLOCK,
	SB_GPUS_THROTTLE,
	SB_GPUS_ENCODER,
	SB_GPUS_DECODER,
	SB_GPUS_PROCESS_MEMORY,
	SB_GPUS_OTHER_PROCESSES,
	SB_GPUS_OTHERS_UTILIZATION, /* their part of the utilisation */
	SB_GPUS_PCIE_TX, /* sent by the GPU */
	SB_GPUS_PCIE_RX,
	SB_GPUS_NVLINK_TX,
	SB_GPUS_NVLINK_RX,
	SB_GPUS_COLUMNS
};
#define SB_GPUS_BIT(column) (1u << (column))
enum { SB_GPUS_DEVICES_MAX = 64 };

/* How busy parts of the chip were, in percent of the time or of their peak; the first six by default, the rest with
 * the setting gpu_counters_all. */
enum sb_gpus_counter {
	SB_GPUS_SM_ACTIVE,
	SB_GPUS_OCCUPANCY,
	SB_GPUS_TENSOR_ACTIVE, /* any precision */
	SB_GPUS_FP32_ACTIVE,
	SB_GPUS_FP64_ACTIVE,
	SB_GPUS_DRAM_ACTIVE,
	SB_GPUS_HMMA_ACTIVE, /* tensor cores on 16-bit floats, and narrower ones */
	SB_GPUS_IMMA_ACTIVE, /* tensor cores on integers */
	SB_GPUS_FP16_ACTIVE, /* without tensor cores */
	SB_GPUS_INTEGER_ACTIVE,
	SB_GPUS_NVDEC_ACTIVE, /* the busiest video decoder */
	SB_GPUS_COUNTERS
};
#define SB_GPUS_COUNTERS_USUAL 63u
#define SB_GPUS_COUNTERS_ALL ((1u << SB_GPUS_COUNTERS) - 1)
enum sb_gpus_counting {
	SB_GPUS_COUNTED,
	SB_GPUS_COUNT_LATER, /* a mean needs two readings; or this one could not be had */
	SB_GPUS_UNCOUNTED /* this device has no such counters, or none any more */
};

struct sb_gpus_device {
	int number; /* as the program sees it: cuda:0 is 0 */
	char name[96];
	char uuid[96];
	void *handle; /* the vendor's */
	void *sensors; /* temperature, power and clocks; a MIG slice has its GPU's */
	int index; /* the vendor's */
	bool last; /* the session's last sample: what is read rarely is read too */
	char uncounted[64]; /* why its counters could not be read last; "": it has none, or they could */
};

enum sb_gpus_state { SB_GPUS_READ, SB_GPUS_GONE };

struct sb_gpus_vendor {
	const char *name;
	/* Reads the environment, before the GPU thread starts: later another thread of the
	 * program may be changing it. NULL: nothing to read. */
	void (*environment)(void);
	/* Loads libraries, before the GPU thread starts; true: the program shares what they
	 * open. NULL: there are none. */
	bool (*load)(void);
	/* Fills devices, numbered from 0, and returns their count; -1: it cannot, with why and how set. */
	int (*open)(struct sb_gpus_device *devices, int limit, const char **out_why, const char **out_how);
	/* Reads the wanted columns; the rest stays NaN. Columns that this device
	 * will never have are cleared in *wanted. */
	enum sb_gpus_state (*read)(struct sb_gpus_device *device, uint32_t *wanted, double *values);
	/* Reads the means of the counters since the call before; those the device lacks are cleared in
	 * *wanted. NULL: the vendor has none. */
	enum sb_gpus_counting (*count)(struct sb_gpus_device *device, uint32_t *wanted, double *values);
	void (*close)(void);
	/* False: the program has closed what the driver's library had open; then neither
	 * read nor close is called again. NULL: there is nothing that could be closed. */
	bool (*intact)(void);
	/* Facts about the driver, for the report; "" when there are none. */
	void (*driver)(char *out, int size);
};

/* The vendors in the order in which their GPUs are numbered. A new one is a file that
 * defines sb_gpus_<name>, and its line here. */
#define SB_GPUS_VENDORS(vendor) vendor(nvml) vendor(amd)
#define SB_GPUS_DECLARE_(name) extern const struct sb_gpus_vendor sb_gpus_##name;
SB_GPUS_VENDORS(SB_GPUS_DECLARE_)

/* The bits of reasons why a GPU runs slower than it could; idle and user-set clocks are not among them. */
uint64_t sb_gpus_throttle_mask(void);
/* These in words: "power cap, thermal". */
void sb_gpus_throttle_words(uint64_t bits, char *out, int size);

/* Reads every vendor's environment, and which rank this is. */
void sb_gpus_read_environment(void);

/* Says which of the machine's ranks this is, where the environment does not. */
void sb_gpus_set_local_rank(int local_rank);

bool sb_gpus_wanted(const struct sb_settings *settings); /* false: the settings switch all of it off */
void sb_gpus_start(const struct sb_settings *settings); /* the thread */
/* Waits a moment for the thread; one that hangs in the driver is left behind.
 * No thread may be in sb_gpus_watch(). */
void sb_gpus_stop(void);
void sb_gpus_forked(void); /* in a forked child: the thread is the parent's */
/* Says once that the driver does not answer, when that is so. */
void sb_gpus_watch(uint64_t mono_ns);

#endif
