// SPDX-License-Identifier: GPL-2.0-or-later
/* system_spec/device_spec.json and .txt: what the machine is and has. */
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cleanup.h"
#include "kinds.h"
#include "mountinfo.h"
#include "tree.h"

enum {
	FILE_TEXT,
	FILE_JSON,
};

struct system {
	struct mountinfo mounts;
	size_t at; /* index of the next mount */
	struct json_object *facts;
	struct json_object *file_systems;
	struct store *store;
};

static void add_time(struct job *job, struct json_object *facts)
{
	char text[TEXT_TIME_SIZE + DIGITS_SLACK];

	job_timestamp(job, text);
	system_add(facts, "timestamp", text);
}

static void add_host(struct job *job, struct json_object *facts)
{
	system_add_name(job, facts, "host", JOB_NAME_HOST, job->request->host);
}

static int begin(struct job *job)
{
	struct system *of = calloc(1, sizeof(*of));
	_cleanup_close_ int machine = tree_open("/", O_PATH | O_DIRECTORY);
	struct json_object *facts;
	char root[32];

	job->state = of;
	if (!of)
		return -ENOMEM;
	if (machine < 0)
		return -errno;
	snprintf(root, sizeof(root), "/proc/self/fd/%d", machine);
	facts = of->facts = json_object_new_object();
	add_time(job, facts);
	add_host(job, facts);
	json_object_object_add(facts, "os", system_os(root));
	json_object_object_add(facts, "kernel", system_kernel());
	json_object_object_add(facts, "machine", system_machine(root));
	json_object_object_add(facts, "cpu", system_cpu(root));
	json_object_object_add(facts, "memory", system_memory(root));
	json_object_object_add(facts, "swap", system_swap(root));
	json_object_object_add(facts, "gpus", system_gpus(root));
	json_object_object_add(facts, "disks", system_disks(root));
	of->file_systems = json_object_new_array();
	json_object_object_add(facts, "file_systems", of->file_systems);
	json_object_object_add(facts, "links", system_links(root, job));
	system_place(root, job->request->country, facts);
	return mountinfo_read(NULL, &of->mounts);
}

static void add_sizes(struct json_object *object, const struct statvfs *stat)
{
	json_object_object_add(object, "total_bytes",
			       stat ? json_object_new_uint64(stat->f_blocks * stat->f_frsize) : NULL);
	json_object_object_add(object, "free_bytes",
			       stat ? json_object_new_uint64(stat->f_bfree * stat->f_frsize) : NULL);
	json_object_object_add(object, "available_bytes",
			       stat ? json_object_new_uint64(stat->f_bavail * stat->f_frsize) : NULL);
}

/* Adds the mount's source. A file system without a device has its type, or "none", instead. */
static void add_source(struct job *job, struct json_object *object, const struct mount_entry *mount)
{
	if (!strcmp(mount->source, mount->type) || !strcmp(mount->source, "none"))
		system_add(object, "source", mount->source);
	else
		system_add_name(job, object, "source", JOB_NAME_PATH, mount->source);
}

/* Adds a file system. `sizes`: whether to ask for its sizes; that is left out when it hung before. */
static void add_file_system(struct job *job, const struct mount_entry *mount, bool sizes)
{
	struct system *of = job->state;
	struct json_object *object;
	struct statvfs stat;
	bool known = sizes && GUARDED(&job->guard, tree_statvfs(mount->path, &stat)) >= 0;

	object = json_object_new_object();
	system_add_name(job, object, "path", JOB_NAME_PATH, mount->path);
	system_add(object, "type", mount->type);
	add_source(job, object, mount);
	system_add_device(object, mount->device >> 20, mount->device & 0xfffff);
	system_add(object, "options", mount->options); /* words of the kernel: see mount_list.h */
	add_sizes(object, known ? &stat : NULL);
	json_object_array_add(of->file_systems, object);
}

static int write_file(struct job *job, unsigned int which, const char *text)
{
	struct system *of = job->state;
	int r;

	if (!text)
		return -ENOMEM;
	r = job_create(job, which, &of->store);
	if (r < 0)
		return r;
	store_text(of->store, text, strlen(text));
	store_text(of->store, "\n", which == FILE_JSON);
	r = job_finish(job, of->store);
	store_free(TAKE(of->store));
	return r;
}

static int run(struct job *job)
{
	struct system *of = job->state;
	_cleanup_free_ char *text = NULL;
	int r;

	for (; of->at < of->mounts.count; of->at++)
		if (!mount_is_pseudo(of->mounts.entries[of->at].mount.type))
			add_file_system(job, &of->mounts.entries[of->at].mount, true);
	text = system_text(of->facts);
	r = write_file(job, FILE_TEXT, text);
	if (r >= 0)
		r = write_file(job, FILE_JSON,
			       json_object_to_json_string_ext(of->facts,
							      JSON_C_TO_STRING_PRETTY |
								      JSON_C_TO_STRING_SPACED |
								      JSON_C_TO_STRING_NOSLASHESCAPE));
	return r;
}

static const char *pass(struct job *job)
{
	struct system *of = job->state;
	const struct mount_entry *mount = &of->mounts.entries[of->at++].mount;

	atomic_fetch_add(&job->skipped, 1);
	add_file_system(job, mount, false);
	return mount->path;
}

static void done(struct job *job)
{
	struct system *of = job->state;

	if (!of)
		return;
	mountinfo_done(&of->mounts);
	json_object_put(of->facts);
	store_free(of->store);
	free(of);
}

const struct job_kind job_system = { begin, run, pass, done };
