// SPDX-License-Identifier: GPL-2.0-or-later
/* What the machine has: graphics, disks, network links. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "system.h"

#define SECTOR_SIZE 512

static void add_file(struct json_object *object, const char *key, const char *root, const char *folder,
		     const char *name, const char *file)
{
	_cleanup_free_ char *text = system_read(root, "%s/%s/%s", folder, name, file);

	system_add(object, key, text);
}

static void add_number_file(struct json_object *object, const char *key, const char *root,
			    const char *folder, const char *name, const char *file, uint64_t unit)
{
	_cleanup_free_ char *text = system_read(root, "%s/%s/%s", folder, name, file);

	system_add_number(object, key, text, unit);
}

/* ---- graphics ---- */

#define PCI "/sys/bus/pci/devices"

/* Whether a line of pci.ids begins with `indent` and the number; `name` gets its text, after two spaces. */
static bool id_matches(const char *line, const char *indent, const char *id, char *name, size_t size)
{
	size_t length = strlen(indent);

	if (strncmp(line, indent, length) || strncasecmp(line + length, id, 4) ||
	    strncmp(line + length + 4, "  ", 2))
		return false;
	snprintf(name, size, "%.*s", (int)strcspn(line + length + 6, "\n"), line + length + 6);
	return true;
}

/* Finds the names that hwdata has; they are left empty where it is not installed. */
static void find_names(const char *root, const char *vendor, const char *device, char *vendor_name,
		       char *device_name, size_t size)
{
	static const char *const places[] = { "/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids" };
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX], line[512];
	bool inside = false;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !file; i++) {
		snprintf(path, sizeof(path), "%s%s", root, places[i]);
		file = fopen(path, "re");
	}
	while (file && fgets(line, sizeof(line), file)) {
		if (*line == '#' || *line == '\n')
			continue;
		if (*line != '\t' && inside)
			return;
		if (*line != '\t')
			inside = id_matches(line, "", vendor, vendor_name, size);
		else if (inside && id_matches(line, "\t", device, device_name, size))
			return;
	}
}

/* The driver's own name of the model, as in "Model: \t\t Tesla T4", to be freed. */
static char *nvidia_model(const char *root, const char *address)
{
	_cleanup_free_ char *text = system_read(root, "/proc/driver/nvidia/gpus/%s/information", address);
	const char *at = text ? strstr(text, "Model:") : NULL;

	if (!at)
		return NULL;
	at += strlen("Model:");
	at += strspn(at, " \t");
	return strndup(at, strcspn(at, "\n"));
}

static struct json_object *gpu(const char *root, const char *address)
{
	struct json_object *object = json_object_new_object();
	_cleanup_free_ char *vendor = system_read(root, PCI "/%s/vendor", address);
	_cleanup_free_ char *device = system_read(root, PCI "/%s/device", address);
	_cleanup_free_ char *driver = system_link(root, PCI "/%s/driver", address);
	_cleanup_free_ char *model = nvidia_model(root, address);
	char vendor_name[128] = "", device_name[128] = "";

	if (vendor && device && strlen(vendor) == 6 && strlen(device) == 6)
		find_names(root, vendor + 2, device + 2, vendor_name, device_name, sizeof(vendor_name));
	system_add(object, "name", model ?: device_name);
	system_add(object, "vendor", vendor_name);
	system_add(object, "vendor_id", vendor);
	system_add(object, "device_id", device);
	system_add(object, "driver", driver);
	add_number_file(object, "memory_bytes", root, PCI, address, "mem_info_vram_total", 1);
	system_add(object, "pci_address", address);
	return object;
}

struct json_object *system_gpus(const char *root)
{
	struct json_object *gpus = json_object_new_array();
	char **names = system_names(root, PCI);

	for (char **name = names; name && *name; name++) {
		_cleanup_free_ char *class = system_read(root, PCI "/%s/class", *name);

		if (class && !strncmp(class, "0x03", 4))
			json_object_array_add(gpus, gpu(root, *name));
	}
	system_names_free(names);
	return gpus;
}

/* ---- disks ---- */

#define BLOCK "/sys/block"

/* Adds the scheduler: of "[mq-deadline] none" the one in brackets. */
static void add_scheduler(struct json_object *disk, const char *root, const char *name)
{
	_cleanup_free_ char *text = system_read(root, BLOCK "/%s/queue/scheduler", name);
	char *begin = text ? strchr(text, '[') : NULL, *end = begin ? strchr(begin, ']') : NULL;

	if (end)
		*end = '\0';
	system_add(disk, "scheduler", end ? begin + 1 : text);
}

static void add_rotational(struct json_object *disk, const char *root, const char *name)
{
	_cleanup_free_ char *text = system_read(root, BLOCK "/%s/queue/rotational", name);

	json_object_object_add(disk, "rotational",
			       text ? json_object_new_boolean(!strcmp(text, "1")) : NULL);
}

static void add_hardware_queues(struct json_object *disk, const char *root, const char *name)
{
	char folder[128], **queues;
	uint64_t count = 0;

	snprintf(folder, sizeof(folder), BLOCK "/%.64s/mq", name);
	queues = system_names(root, folder);
	while (queues && queues[count])
		count++;
	json_object_object_add(disk, "hardware_queues", count ? json_object_new_uint64(count) : NULL);
	system_names_free(queues);
}

/* As rows have it, which are joined by it. */
static void add_device(struct json_object *disk, const char *root, const char *name)
{
	_cleanup_free_ char *text = system_read(root, BLOCK "/%s/dev", name);
	unsigned int major, minor;

	if (text && sscanf(text, "%u:%u", &major, &minor) == 2)
		system_add_device(disk, major, minor);
	else
		json_object_object_add(disk, "device", NULL);
}

static struct json_object *disk(const char *root, const char *name)
{
	struct json_object *object = json_object_new_object();

	system_add(object, "name", name);
	add_device(object, root, name);
	add_file(object, "model", root, BLOCK, name, "device/model");
	add_file(object, "vendor", root, BLOCK, name, "device/vendor");
	add_number_file(object, "size_bytes", root, BLOCK, name, "size", SECTOR_SIZE);
	add_rotational(object, root, name);
	add_scheduler(object, root, name);
	add_number_file(object, "queue_depth", root, BLOCK, name, "device/queue_depth", 1);
	add_number_file(object, "queue_requests", root, BLOCK, name, "queue/nr_requests", 1);
	add_hardware_queues(object, root, name);
	add_number_file(object, "logical_block_bytes", root, BLOCK, name, "queue/logical_block_size", 1);
	add_number_file(object, "physical_block_bytes", root, BLOCK, name, "queue/physical_block_size", 1);
	add_file(object, "write_cache", root, BLOCK, name, "queue/write_cache");
	return object;
}

/* RAM disks, and loop devices, drives and card readers with nothing in them, are no disks. */
static bool is_disk(const char *root, const char *name)
{
	_cleanup_free_ char *size = system_read(root, BLOCK "/%s/size", name);

	return size && strcmp(size, "0") && strncmp(name, "ram", 3) && strncmp(name, "zram", 4) &&
	       strncmp(name, "loop", 4);
}

struct json_object *system_disks(const char *root)
{
	struct json_object *disks = json_object_new_array();
	char **names = system_names(root, BLOCK);

	for (char **name = names; name && *name; name++)
		if (is_disk(root, *name))
			json_object_array_add(disks, disk(root, *name));
	system_names_free(names);
	return disks;
}

/* ---- links ---- */

#define NET "/sys/class/net"

/*
 * Speed is in megabits a second; -1 and an error mean that it is unknown. Interfaces have names
 * that users choose, or that hold addresses (enx001122334455).
 */
static struct json_object *link_of(const char *root, struct job *job, const char *name)
{
	struct json_object *object = json_object_new_object();
	_cleanup_free_ char *driver = system_link(root, NET "/%s/device/driver", name);
	_cleanup_free_ char *device = system_link(root, NET "/%s/device", name);

	system_add_name(job, object, "name", JOB_NAME_LINK, name);
	json_object_object_add(object, "hardware", json_object_new_boolean(device != NULL));
	add_file(object, "state", root, NET, name, "operstate");
	add_number_file(object, "speed_mbps", root, NET, name, "speed", 1);
	add_file(object, "duplex", root, NET, name, "duplex");
	add_number_file(object, "mtu", root, NET, name, "mtu", 1);
	system_add(object, "driver", driver);
	return object;
}

struct json_object *system_links(const char *root, struct job *job)
{
	struct json_object *links = json_object_new_array();
	char **names = system_names(root, NET);

	for (char **name = names; name && *name; name++)
		json_object_array_add(links, link_of(root, job, *name));
	system_names_free(names);
	return links;
}
