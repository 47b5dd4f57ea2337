// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts of the machine: its system, processors, memory, country and time zone. */
#include <cpuid.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cleanup.h"
#include "system.h"

#define ZONES "/usr/share/zoneinfo/"

/* ---- files of KEY=VALUE and "key: value" ---- */

/* The value of a key, without quotes, to be freed; NULL when no line has it. */
static char *value_of(const char *text, const char *key, char separator)
{
	size_t length = strlen(key);

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *at = line + length;
		size_t size;

		if (strncmp(line, key, length))
			continue;
		at += strspn(at, " \t");
		if (*at != separator)
			continue;
		at++;
		at += strspn(at, " \t\"'");
		size = strcspn(at, "\n");
		while (size && strchr(" \t\"'", at[size - 1]))
			size--;
		return strndup(at, size);
	}
	return NULL;
}

static void add_value(struct json_object *object, const char *key, const char *text, const char *name,
		      char separator)
{
	_cleanup_free_ char *value = value_of(text ?: "", name, separator);

	system_add(object, key, value);
}

static void add_kb(struct json_object *object, const char *key, const char *meminfo, const char *name)
{
	_cleanup_free_ char *value = value_of(meminfo ?: "", name, ':');

	system_add_number(object, key, value, 1024);
}

/* ---- system ---- */

struct json_object *system_os(const char *root)
{
	struct json_object *os = json_object_new_object();
	_cleanup_free_ char *text = system_read(root, "/etc/os-release");

	if (!text)
		text = system_read(root, "/usr/lib/os-release");
	add_value(os, "name", text, "NAME", '=');
	add_value(os, "release", text, "VERSION_ID", '=');
	add_value(os, "version", text, "VERSION", '=');
	add_value(os, "description", text, "PRETTY_NAME", '=');
	return os;
}

struct json_object *system_kernel(void)
{
	struct json_object *kernel = json_object_new_object();
	struct utsname names = { 0 };

	uname(&names);
	system_add(kernel, "name", names.sysname);
	system_add(kernel, "release", names.release);
	system_add(kernel, "version", names.version);
	system_add(kernel, "machine", names.machine);
	return kernel;
}

/* ---- bare metal, virtual, container ---- */

static const struct {
	const char *signature; /* of CPUID leaf 0x40000000 */
	const char *name;
} hypervisors[] = {
	{ "KVMKVMKVM", "kvm" },	      { "TCGTCGTCGTCG", "qemu" },   { "Linux KVM Hv", "kvm" },
	{ "VMwareVMware", "vmware" }, { "Microsoft Hv", "hyper-v" }, { "XenVMMXenVMM", "xen" },
	{ "bhyve bhyve ", "bhyve" },  { "ACRNACRNACRN", "acrn" },   { "QNXQVMBSQG", "qnx" },
	{ "VBoxVBoxVBox", "virtualbox" },
};

/* NULL: none. */
static const char *hypervisor(void)
{
	unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
	char signature[13] = "";

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & 1U << 31))
		return NULL;
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(signature, &ebx, 4);
	memcpy(signature + 4, &ecx, 4);
	memcpy(signature + 8, &edx, 4);
	for (size_t i = 0; i < sizeof(hypervisors) / sizeof(hypervisors[0]); i++)
		if (!strcmp(hypervisors[i].signature, signature))
			return hypervisors[i].name;
	return "unknown";
}

/* The container that we are in, to be freed; NULL: none. */
static char *container(const char *root)
{
	static const struct {
		const char *file, *name;
	} marks[] = {
		{ "/.dockerenv", "docker" },
		{ "/run/.containerenv", "podman" },
		{ "/proc/vz", "openvz" },
	};
	char *name = system_read(root, "/run/systemd/container");
	char path[PATH_MAX];

	if (name && *name)
		return name;
	free(name);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, marks[i].file);
		if (!access(path, F_OK))
			return strdup(marks[i].name);
	}
	return NULL;
}

struct json_object *system_machine(const char *root)
{
	struct json_object *machine = json_object_new_object();
	_cleanup_free_ char *vendor = system_read(root, "/sys/class/dmi/id/sys_vendor");
	_cleanup_free_ char *product = system_read(root, "/sys/class/dmi/id/product_name");
	_cleanup_free_ char *inside = container(root);
	const char *below = hypervisor();

	system_add(machine, "kind", inside ? "container" : below ? "virtual" : "bare metal");
	system_add(machine, "container", inside);
	system_add(machine, "hypervisor", below);
	system_add(machine, "vendor", vendor);
	system_add(machine, "product", product);
	return machine;
}

/* ---- processors ---- */

/* Counts the cores by the numbers of package and core, which the threads of a core share. */
static size_t count_cores(const char *root, size_t *packages)
{
	char **names = system_names(root, "/sys/devices/system/cpu");
	size_t cores = 0;

	*packages = 0;
	for (char **name = names; name && *name; name++) {
		_cleanup_free_ char *first = NULL, *in_package = NULL;
		unsigned int number;
		char rest;

		if (sscanf(*name, "cpu%u%c", &number, &rest) != 1)
			continue;
		first = system_read(root, "/sys/devices/system/cpu/%s/topology/thread_siblings_list", *name);
		in_package = system_read(root, "/sys/devices/system/cpu/%s/topology/core_siblings_list", *name);
		cores += first && strtoul(first, NULL, 10) == number;
		*packages += in_package && strtoul(in_package, NULL, 10) == number;
	}
	system_names_free(names);
	return cores;
}

static void add_count(struct json_object *object, const char *key, size_t count)
{
	json_object_object_add(object, key, count ? json_object_new_uint64(count) : NULL);
}

static void add_mhz(struct json_object *cpu, const char *root, const char *cpuinfo)
{
	_cleanup_free_ char *least = system_read(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq");
	_cleanup_free_ char *most = system_read(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
	_cleanup_free_ char *now = value_of(cpuinfo ?: "", "cpu MHz", ':');

	json_object_object_add(cpu, "frequency_mhz", now ? json_object_new_double_s(strtod(now, NULL), now) : NULL);
	add_count(cpu, "frequency_min_mhz", least ? strtoul(least, NULL, 10) / 1000 : 0);
	add_count(cpu, "frequency_max_mhz", most ? strtoul(most, NULL, 10) / 1000 : 0);
}

struct json_object *system_cpu(const char *root)
{
	struct json_object *cpu = json_object_new_object();
	_cleanup_free_ char *text = system_read(root, "/proc/cpuinfo");
	long threads = sysconf(_SC_NPROCESSORS_ONLN);
	size_t packages, cores = count_cores(root, &packages);

	add_value(cpu, "brand", text, "model name", ':');
	add_value(cpu, "vendor", text, "vendor_id", ':');
	add_count(cpu, "sockets", packages);
	add_count(cpu, "cores", cores);
	add_count(cpu, "threads", threads > 0 ? (size_t)threads : 0);
	add_mhz(cpu, root, text);
	return cpu;
}

/* ---- memory ---- */

/* An object of two lines of /proc/meminfo: all, and under `key` what is left. */
static struct json_object *meminfo(const char *root, const char *all, const char *key, const char *left)
{
	struct json_object *object = json_object_new_object();
	_cleanup_free_ char *text = system_read(root, "/proc/meminfo");

	add_kb(object, "total_bytes", text, all);
	add_kb(object, key, text, left);
	return object;
}

struct json_object *system_memory(const char *root)
{
	return meminfo(root, "MemTotal", "available_bytes", "MemAvailable");
}

struct json_object *system_swap(const char *root)
{
	return meminfo(root, "SwapTotal", "free_bytes", "SwapFree");
}

/* ---- country and time zone ---- */

/* The zone's name, to be freed, from where /etc/localtime leads, otherwise from /etc/timezone. */
static char *time_zone(const char *root)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *zone;
	ssize_t length;
	char *text;

	snprintf(path, sizeof(path), "%s/etc/localtime", root);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	zone = strstr(target, "zoneinfo/");
	if (zone)
		return strdup(zone + strlen("zoneinfo/"));
	text = system_read(root, "/etc/timezone");
	if (text && *text)
		return text;
	free(text);
	return NULL;
}

/* Looks the zone up in lines "CC[,CC...] TAB COORDINATES TAB ZONE [TAB COMMENT]"; takes the first country. */
static bool country_in(const char *root, const char *table, const char *zone, char country[3])
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX], line[512];

	snprintf(path, sizeof(path), "%s" ZONES "%s", root, table);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *rest = line, *countries = strsep(&rest, "\t"), *name;

		strsep(&rest, "\t");
		name = strsep(&rest, "\t\n");
		if (*line == '#' || !name || strcmp(name, zone))
			continue;
		snprintf(country, 3, "%s", countries);
		return true;
	}
	return false;
}

/* Looks up the target of an old name of a zone: "L TARGET NAME" in tzdata.zi. */
static bool follow_alias(const char *root, const char *zone, char target[128])
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX], line[512], name[128];

	snprintf(path, sizeof(path), "%s" ZONES "tzdata.zi", root);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "L %127s %127s", target, name) == 2 && !strcmp(name, zone))
			return true;
	return false;
}

static bool country_of(const char *root, const char *zone, char country[3])
{
	return country_in(root, "zone.tab", zone, country) ||
	       country_in(root, "zone1970.tab", zone, country);
}

void system_place(const char *root, const char *country, struct json_object *to)
{
	_cleanup_free_ char *zone = time_zone(root);
	char found[3] = "", target[128];

	if (*country)
		snprintf(found, sizeof(found), "%s", country);
	else if (zone && !country_of(root, zone, found) &&
		 !(follow_alias(root, zone, target) && country_of(root, target, found)))
		*found = '\0';
	system_add(to, "country", found);
	system_add(to, "time_zone", zone);
}
