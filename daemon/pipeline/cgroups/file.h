/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroups/cgroups.csv: what the ids of cgroups in rows stand for. While the session runs it is called
 * cgroups/cgroups.csv.part, and is replaced as a whole when cgroups have come or gone. All calls use the rights of the
 * thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "anonymize.h"
#include "cgroup_table.h"
#include "cgroups/list.h"
#include "sha256_hex.h"

struct trace;

struct cgroup_file {
	uint64_t rows, bytes;
	char sha256[SHA256_HEX_SIZE];
};

/*
 * Sorts the list, and writes it into the session's folder. `last`: the file gets its final name. `anonymizer`: NULL leaves names
 * in the clear. `trace`: asked for room, and how large the file may be; may be NULL. What would make it larger, the youngest
 * cgroups, is not written; the list counts it as left out then. A negative errno: what was there stays.
 */
int cgroup_file_write(int folder_fd, struct trace *trace, struct cgroup_list *list, struct iotr_anonymizer *anonymizer,
		      bool last, struct cgroup_file *ret);

/*
 * After a crash, or when the last list could not be written: what was last written gets its final name. -ENOENT: there is
 * nothing. A file that is whole already stays.
 */
int cgroup_file_recover(int folder_fd, struct cgroup_file *ret);

/* Removes it, with its folder. */
void cgroup_file_remove(int folder_fd);

/* The file as the manifest lists it, among the snapshots. */
struct json_object *cgroup_file_describe(const struct cgroup_file *file);
