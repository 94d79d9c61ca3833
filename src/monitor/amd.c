/* AMD GPUs through sysfs: /sys/class/drm/cardN/device and its hwmon folder. */
#include "monitor/gpus.h"

#include "monitor/procfile.h"
#include "monitor/visible.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MIB 1048576.0

struct card {
	char folder[96]; /* class/drm/card0/device */
	char sensors[192]; /* …/hwmon/hwmon3; "" none */
};
static struct card cards[SB_GPUS_DEVICES_MAX];

static struct sb_visible_text visible_text;

/* The HIP runtime takes CUDA's variable too, and ROCR's comes before both. */
static void read_environment(void)
{
	static const char *const variables[] = { "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
		"CUDA_VISIBLE_DEVICES", NULL };

	sb_visible_read(variables, &visible_text);
}

static void find_sensors(struct card *card)
{
	char path[512];
	struct dirent *entry;
	struct sb_descriptor file;
	DIR *folder;

	card->sensors[0] = 0;
	snprintf(path, sizeof path, "%s/%s/hwmon", sb_procfile_sys(), card->folder);
	folder = sb_descriptor_opendir(&file, path);
	while (folder && (entry = readdir(folder)))
		if (!strncmp(entry->d_name, "hwmon", 5))
			snprintf(card->sensors, sizeof card->sensors, "%s/hwmon/%.40s", card->folder,
				entry->d_name);
	if (folder)
		sb_descriptor_closedir(&file, folder);
}

static void describe(struct sb_gpus_device *d, const struct card *card)
{
	char text[96];

	snprintf(d->name, sizeof d->name, "AMD GPU");
	if (sb_procfile_sys_text(text, sizeof text, "%s/product_name", card->folder) > 0 && text[0] != '\n')
		snprintf(d->name, sizeof d->name, "%.*s", (int)strcspn(text, "\n"), text);
	if (sb_procfile_sys_text(text, sizeof text, "%s/unique_id", card->folder) > 0)
		snprintf(d->uuid, sizeof d->uuid, "%.*s", (int)strcspn(text, "\n"), text);
}

static bool is_entry(const struct sb_gpus_device *d, int position, const struct sb_visible_entry *entry)
{
	if (entry->index >= 0)
		return entry->index == position;
	return *d->uuid && !strncmp(entry->uuid, "GPU-", 4) && !strcasecmp(entry->uuid + 4, d->uuid);
}

/* Those that the program sees, in its order. */
static int keep_visible(struct sb_gpus_device *devices, int count)
{
	struct sb_gpus_device all[SB_GPUS_DEVICES_MAX];
	struct sb_visible visible;
	int kept = 0;

	sb_visible_parse(visible_text.set ? visible_text.text : NULL, &visible);
	if (!visible.restricted)
		return count;
	memcpy(all, devices, (size_t)count * sizeof *all);
	for (uint32_t i = 0; i < visible.count; i++)
		for (int k = 0; k < count && kept < count; k++)
			if (is_entry(&all[k], k, &visible.entries[i])) {
				devices[kept] = all[k];
				devices[kept].number = kept;
				kept++;
				break;
			}
	return kept;
}

static int open_amd(struct sb_gpus_device *devices, int limit, const char **out_why, const char **out_how)
{
	int found = 0;

	*out_why = "there is no AMD GPU here";
	*out_how = "";
	for (int n = 0; n < 64 && found < limit && found < SB_GPUS_DEVICES_MAX; n++) {
		struct card *card = &cards[found];
		double total;

		snprintf(card->folder, sizeof card->folder, "class/drm/card%d/device", n);
		if (!sb_procfile_sys_number(&total, "%s/mem_info_vram_total", card->folder))
			continue;
		find_sensors(card);
		devices[found] = (struct sb_gpus_device){
			.number = found, .handle = card, .sensors = card, .index = n
		};
		describe(&devices[found], card);
		found++;
	}
	if (!found)
		return -1;
	*out_why = "ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES leave no GPU visible";
	found = keep_visible(devices, found);
	return found ? found : -1;
}

static void number(uint32_t *wanted, enum sb_gpus_column column, double *values, double scale,
	const char *folder, const char *file)
{
	double value;

	if (!(*wanted & SB_GPUS_BIT(column)))
		return;
	if (*folder && sb_procfile_sys_number(&value, "%s/%s", folder, file))
		values[column] = value * scale;
	else
		*wanted &= ~SB_GPUS_BIT(column);
}

static enum sb_gpus_state read_amd(struct sb_gpus_device *d, uint32_t *wanted, double *v)
{
	const struct card *card = d->handle;
	const uint32_t never = SB_GPUS_BIT(SB_GPUS_THROTTLE) | SB_GPUS_BIT(SB_GPUS_ENCODER) |
			       SB_GPUS_BIT(SB_GPUS_DECODER) | SB_GPUS_BIT(SB_GPUS_PROCESS_MEMORY) |
			       SB_GPUS_BIT(SB_GPUS_OTHER_PROCESSES) |
			       SB_GPUS_BIT(SB_GPUS_OTHERS_UTILIZATION) | SB_GPUS_BIT(SB_GPUS_PCIE_TX) |
			       SB_GPUS_BIT(SB_GPUS_PCIE_RX) | SB_GPUS_BIT(SB_GPUS_NVLINK_TX) |
			       SB_GPUS_BIT(SB_GPUS_NVLINK_RX);
	double total;

	*wanted &= ~never;
	if (!sb_procfile_sys_number(&total, "%s/mem_info_vram_total", card->folder))
		return SB_GPUS_GONE;
	if (*wanted & SB_GPUS_BIT(SB_GPUS_MEMORY_TOTAL))
		v[SB_GPUS_MEMORY_TOTAL] = total / MIB;
	number(wanted, SB_GPUS_MEMORY_USED, v, 1 / MIB, card->folder, "mem_info_vram_used");
	number(wanted, SB_GPUS_UTILIZATION, v, 1, card->folder, "gpu_busy_percent");
	number(wanted, SB_GPUS_MEMORY_UTILIZATION, v, 1, card->folder, "mem_busy_percent");
	number(wanted, SB_GPUS_TEMPERATURE, v, 1e-3, card->sensors, "temp1_input");
	number(wanted, SB_GPUS_SM_CLOCK, v, 1e-6, card->sensors, "freq1_input");
	number(wanted, SB_GPUS_MEMORY_CLOCK, v, 1e-6, card->sensors, "freq2_input");
	if (*wanted & SB_GPUS_BIT(SB_GPUS_POWER)) {
		number(wanted, SB_GPUS_POWER, v, 1e-6, card->sensors, "power1_average");
		if (!(*wanted & SB_GPUS_BIT(SB_GPUS_POWER))) { /* newer cards have the momentary value only */
			*wanted |= SB_GPUS_BIT(SB_GPUS_POWER);
			number(wanted, SB_GPUS_POWER, v, 1e-6, card->sensors, "power1_input");
		}
	}
	return SB_GPUS_READ;
}

static void close_amd(void)
{
}

static void driver(char *out, int size)
{
	if (sb_procfile_sys_text(out, (size_t)size, "module/amdgpu/version") <= 0)
		out[0] = 0;
	out[strcspn(out, "\n")] = 0;
}

const struct sb_gpus_vendor sb_gpus_amd = { .name = "AMD sysfs",
	.environment = read_environment,
	.open = open_amd,
	.read = read_amd,
	.close = close_amd,
	.driver = driver };
