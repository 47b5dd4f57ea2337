// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts from a folder of files like those of /proc and /sys. */
#include "system.h"

#include <stdarg.h>

#include "folder.h"
#include "suite.h"

static struct folder folder;

static void begin(void)
{
	folder_begin(&folder);
}

static void end(void)
{
	folder_end(&folder);
}

static void put(const char *name, const char *text)
{
	folder_put(&folder, name + 1, text);
}

static void put_link(const char *name, const char *target)
{
	put(name, "");
	unlinkat(folder.fd, name + 1, 0);
	ck_assert_int_eq(symlinkat(target, folder.fd, name + 1), 0);
}

/* The text of a fact, "" when it is not known. */
static const char *fact(struct json_object *object, const char *key)
{
	struct json_object *value;

	ck_assert_msg(json_object_object_get_ex(object, key, &value), "no %s", key);
	return value ? json_object_get_string(value) : "";
}

static void put_zones(void)
{
	put("/usr/share/zoneinfo/zone.tab", "# comment\n"
					    "DE\t+5230+01322\tEurope/Berlin\tmost of Germany\n"
					    "NO\t+5955+01045\tEurope/Oslo\n"
					    "IN\t+2232+08822\tAsia/Kolkata\n");
	put("/usr/share/zoneinfo/zone1970.tab", "DE,DK,NO\t+5230+01322\tEurope/Berlin\n"
						"US\t+1\tAmerica/New_York\tEastern\n");
	put("/usr/share/zoneinfo/tzdata.zi", "# version\nL Asia/Kolkata Asia/Calcutta\nL America/New_York US/Eastern\n");
}

static const struct {
	const char *link, *file, *given, *country, *zone;
} places[] = {
	{ "/usr/share/zoneinfo/Europe/Berlin", NULL, "", "DE", "Europe/Berlin" },
	{ "../usr/share/zoneinfo/Europe/Oslo", NULL, "", "NO", "Europe/Oslo" },
	{ "/usr/share/zoneinfo/Asia/Calcutta", NULL, "", "IN", "Asia/Calcutta" },
	{ "/usr/share/zoneinfo/US/Eastern", NULL, "", "US", "US/Eastern" },
	{ "/usr/share/zoneinfo/Etc/UTC", NULL, "", "", "Etc/UTC" },
	{ NULL, "Europe/Berlin\n", "", "DE", "Europe/Berlin" },
	{ NULL, NULL, "", "", "" },
	{ "/usr/share/zoneinfo/Europe/Berlin", NULL, "CH", "CH", "Europe/Berlin" },
};

START_TEST(finds_the_country)
{
	struct json_object *facts = json_object_new_object();

	put_zones();
	if (places[_i].link)
		put_link("/etc/localtime", places[_i].link);
	if (places[_i].file)
		put("/etc/timezone", places[_i].file);
	system_place(folder.path, places[_i].given, facts);
	ck_assert_str_eq(fact(facts, "country"), places[_i].country);
	ck_assert_str_eq(fact(facts, "time_zone"), places[_i].zone);
	json_object_put(facts);
}
END_TEST

START_TEST(tells_the_system)
{
	struct json_object *os;

	put("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n"
			       "VERSION_ID=\"12\"\nVERSION=12\n");
	os = system_os(folder.path);
	ck_assert_str_eq(fact(os, "name"), "Debian GNU/Linux");
	ck_assert_str_eq(fact(os, "release"), "12");
	ck_assert_str_eq(fact(os, "version"), "12");
	json_object_put(os);
}
END_TEST

#define CPU "/sys/devices/system/cpu/"

START_TEST(counts_cores)
{
	struct json_object *cpu;
	char name[128], text[32];

	put("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 3.00GHz\n"
			     "cpu MHz\t\t: 3000.123\n");
	put(CPU "cpu0/cpufreq/cpuinfo_max_freq", "4500000\n");
	put(CPU "cpufreq/boost", "1");
	for (int i = 0; i < 4; i++) { /* two packages of one core with two threads */
		snprintf(text, sizeof(text), "%d-%d\n", i & ~1, i | 1);
		snprintf(name, sizeof(name), CPU "cpu%d/topology/thread_siblings_list", i);
		put(name, text);
		snprintf(name, sizeof(name), CPU "cpu%d/topology/core_siblings_list", i);
		put(name, text);
	}
	cpu = system_cpu(folder.path);
	ck_assert_str_eq(fact(cpu, "brand"), "Some CPU @ 3.00GHz");
	ck_assert_str_eq(fact(cpu, "cores"), "2");
	ck_assert_str_eq(fact(cpu, "sockets"), "2");
	ck_assert_str_eq(fact(cpu, "frequency_mhz"), "3000.123");
	ck_assert_str_eq(fact(cpu, "frequency_max_mhz"), "4500");
	ck_assert_str_eq(fact(cpu, "frequency_min_mhz"), "");
	json_object_put(cpu);
}
END_TEST

#define PCI "/sys/bus/pci/devices/"

START_TEST(names_graphics)
{
	struct json_object *gpus, *first, *second;

	put("/usr/share/misc/pci.ids", "# list\n10de  NVIDIA Corporation\n\t1eb7  Other\n\t1eb8  TU104GL [Tesla T4]\n"
				       "\t\t10de 1234  sub\n8086  Intel Corporation\n\t1eb8  Not this\n");
	put(PCI "0000:00:02.0/class", "0x030000\n");
	put(PCI "0000:00:02.0/vendor", "0x10de\n");
	put(PCI "0000:00:02.0/device", "0x1eb8\n");
	put_link(PCI "0000:00:02.0/driver", "../../../bus/pci/drivers/nouveau");
	put(PCI "0000:00:03.0/class", "0x020000\n");
	put(PCI "0000:00:04.0/class", "0x030200\n");
	put(PCI "0000:00:04.0/vendor", "0xabcd\n");
	put(PCI "0000:00:04.0/device", "0x0001\n");
	put("/proc/driver/nvidia/gpus/0000:00:04.0/information", "Model: \t\t Driver's Word\nIRQ: 1\n");
	gpus = system_gpus(folder.path);
	ck_assert_uint_eq(json_object_array_length(gpus), 2);
	first = json_object_array_get_idx(gpus, 0);
	second = json_object_array_get_idx(gpus, 1);
	ck_assert_str_eq(fact(first, "name"), "TU104GL [Tesla T4]");
	ck_assert_str_eq(fact(first, "vendor"), "NVIDIA Corporation");
	ck_assert_str_eq(fact(first, "driver"), "nouveau");
	ck_assert_str_eq(fact(first, "memory_bytes"), "");
	ck_assert_str_eq(fact(second, "name"), "Driver's Word");
	ck_assert_str_eq(fact(second, "vendor"), "");
	json_object_put(gpus);
}
END_TEST

START_TEST(tells_disks)
{
	struct json_object *disks, *disk;

	put("/sys/block/sda/size", "2048\n");
	put("/sys/block/sda/dev", "8:0\n");
	put("/sys/block/sda/device/model", "Fast \xff Disk   \n");
	put("/sys/block/sda/device/queue_depth", "32\n");
	put("/sys/block/sda/queue/rotational", "0\n");
	put("/sys/block/sda/queue/scheduler", "none [mq-deadline] bfq\n");
	put("/sys/block/sda/queue/nr_requests", "64\n");
	put("/sys/block/loop0/size", "77\n");
	put("/sys/block/sr0/size", "0\n");
	disks = system_disks(folder.path);
	ck_assert_uint_eq(json_object_array_length(disks), 1);
	disk = json_object_array_get_idx(disks, 0);
	ck_assert_str_eq(fact(disk, "name"), "sda");
	ck_assert_str_eq(fact(disk, "device"), "8:000");
	ck_assert_str_eq(fact(disk, "model"), "Fast \\xff Disk");
	ck_assert_str_eq(fact(disk, "size_bytes"), "1048576");
	ck_assert_str_eq(fact(disk, "rotational"), "false");
	ck_assert_str_eq(fact(disk, "scheduler"), "mq-deadline");
	ck_assert_str_eq(fact(disk, "queue_depth"), "32");
	ck_assert_str_eq(fact(disk, "write_cache"), "");
	json_object_put(disks);
}
END_TEST

START_TEST(tells_links)
{
	struct json_object *links, *link;

	put("/sys/class/net/eth0/speed", "10000\n");
	put("/sys/class/net/eth0/operstate", "up\n");
	put("/sys/class/net/eth0/mtu", "1500\n");
	put("/sys/class/net/lo/speed", "-1\n");
	links = system_links(folder.path, &(struct job){ 0 });
	ck_assert_uint_eq(json_object_array_length(links), 2);
	link = json_object_array_get_idx(links, 0);
	ck_assert_str_eq(fact(link, "speed_mbps"), "10000");
	ck_assert_str_eq(fact(link, "state"), "up");
	ck_assert_str_eq(fact(json_object_array_get_idx(links, 1), "speed_mbps"), "");
	json_object_put(links);
}
END_TEST

START_TEST(tells_what_it_runs_in)
{
	struct json_object *machine = system_machine(folder.path);

	ck_assert_str_eq(fact(machine, "container"), "");
	ck_assert_str_ne(fact(machine, "kind"), "container");
	json_object_put(machine);
	put("/run/systemd/container", "lxc\n");
	put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
	machine = system_machine(folder.path);
	ck_assert_str_eq(fact(machine, "kind"), "container");
	ck_assert_str_eq(fact(machine, "container"), "lxc");
	ck_assert_str_eq(fact(machine, "vendor"), "Amazon EC2");
	json_object_put(machine);
}
END_TEST

/* Without any file all facts are unknown, and none is invented. */
START_TEST(leaves_the_unknown_empty)
{
	struct json_object *memory = system_memory(folder.path), *cpu = system_cpu(folder.path);
	struct json_object *gpus = system_gpus(folder.path);
	char *text = system_text(memory);

	ck_assert_str_eq(fact(memory, "total_bytes"), "");
	ck_assert_str_eq(fact(cpu, "brand"), "");
	ck_assert_str_eq(fact(cpu, "cores"), "");
	ck_assert_uint_eq(json_object_array_length(gpus), 0);
	ck_assert_str_eq(text, "total_bytes\navailable_bytes\n");
	free(text);
	json_object_put(memory);
	json_object_put(cpu);
	json_object_put(gpus);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, finds_the_country, 0, (int)(sizeof(places) / sizeof(places[0])));
	tcase_add_test(tests, tells_the_system);
	tcase_add_test(tests, counts_cores);
	tcase_add_test(tests, names_graphics);
	tcase_add_test(tests, tells_disks);
	tcase_add_test(tests, tells_links);
	tcase_add_test(tests, tells_what_it_runs_in);
	tcase_add_test(tests, leaves_the_unknown_empty);
}

int main(void)
{
	return run_suite("system", add);
}
