// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/missing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "json_add.h"
#include "probes/calls.h"
#include "probes/control_page.h"
#include "schema.h"
#include "session/descriptors.h"

static void missing_add(struct json_object *missing, enum iotr_stream stream, size_t operation, const char *reason)
{
	struct json_object *entry = json_object_new_object();

	add_string(entry, "stream", iotr_schemas[stream].flag);
	add_string(entry, "operation", iotr_schemas[stream].operations[operation]);
	add_string(entry, "reason", reason);
	json_object_array_add(missing, entry);
}

static void operation_missing(const struct probes *probes, enum iotr_stream stream, size_t operation,
			      struct json_object *missing)
{
	const char *reason;

	if (!probes_hook(probes, stream, operation, &reason))
		missing_add(missing, stream, operation, reason);
}

/*
 * Operations of calls that name a file by its path: those whose result identifies the file (`tell`), or the
 * others.
 */
static uint64_t operations_by_path(bool tell)
{
	const uint32_t tells = IOTR_CALL_OPENS | IOTR_CALL_CHDIR | IOTR_CALL_STAT | IOTR_CALL_STATX;
	uint64_t operations = 0;

	for (size_t i = 0; i < call_count; i++)
		if (calls[i].row.path && !calls[i].row.fd && !(calls[i].row.traits & tells) == !tell)
			operations |= call_operations(&calls[i]);
	return operations;
}

/*
 * Adds what --device leaves out, because the device of a path is not known: at tracepoint level every operation
 * by path whose result does not identify the file, at function level those without a hook for the inode. At both
 * levels failing calls are left out, too; at function level that is reported only if the session records errors
 * alone.
 */
static void devices_missing(const struct probes *probes, const struct iotr_session_spec *spec,
			    struct json_object *missing)
{
	const bool tracepoint = probes_level(probes) == PROBES_TRACEPOINT;
	const uint64_t tell = operations_by_path(true), by_path = operations_by_path(false) | tell,
		       unseen = 1ULL << IOTR_VFS_ACCESS | 1ULL << IOTR_VFS_MOUNT | 1ULL << IOTR_VFS_UMOUNT,
		       never = tracepoint ? by_path & ~tell : unseen,
		       failing = tracepoint || spec->errors ? by_path & ~never : 0,
		       wanted = spec->operations[IOTR_VFS].bits[0];

	if (!spec->device_count || !(spec->streams & 1u << IOTR_VFS))
		return;
	for (size_t i = 0; i < iotr_schemas[IOTR_VFS].operation_count; i++) {
		if (wanted && !(wanted >> i & 1))
			continue;
		if (never >> i & 1)
			missing_add(missing, IOTR_VFS, i, "by path: no hook of this level tells its device, which "
							  "--device asks for; --path does without");
		else if (failing >> i & 1)
			missing_add(missing, IOTR_VFS, i, "by path, where it fails: no device is known then, which "
							  "--device asks for; --path does without");
	}
}

/* What all rows of a stream do not tell. */
static void stream_lacks(enum iotr_stream stream, const char *hook, const char *reason, struct json_object *missing)
{
	struct json_object *entry = json_object_new_object();

	add_string(entry, "stream", iotr_schemas[stream].flag);
	add_string(entry, "operation", "");
	add_string(entry, "hook", hook);
	add_string(entry, "reason", reason);
	json_object_array_add(missing, entry);
}

/* Without them there are rows of block requests, but not whose they are. */
static void dirtier_missing(const struct probes *probes, struct json_object *missing)
{
	struct dirtier_lack lacks[DIRTIER_LACKS];
	size_t count = probes_dirtier_lacks(probes, true, lacks);

	for (size_t i = 0; i < count; i++)
		stream_lacks(IOTR_BLOCK, lacks[i].hook, lacks[i].reason, missing);
}

/* Rows of files on btrfs are of the file system as a whole then: for the first stream that has files. */
static void subvolumes_missing(const struct probes *probes, const struct iotr_session_spec *spec, struct json_object *missing)
{
	const uint32_t files = 1U << IOTR_VFS | 1U << IOTR_CACHE | 1U << IOTR_PAGEFAULT | 1U << IOTR_IOURING;
	uint32_t streams = spec->streams & files;

	if (streams && !control_page_subvolumes_known(probes, true))
		stream_lacks((enum iotr_stream)__builtin_ctz(streams), "btrfs_root",
			     "the kernel's types do not tell those of btrfs: files of its subvolumes and snapshots may have the "
			     "same device and inode, and --path may take one for the other", missing);
}

void missing_describe(const struct probes *probes, const struct iotr_session_spec *spec, struct json_object *missing)
{
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (size_t i = 0; spec->streams >> stream & 1 && i < iotr_schemas[stream].operation_count; i++)
			operation_missing(probes, stream, i, missing);
	if (spec->streams & 1U << IOTR_BLOCK)
		dirtier_missing(probes, missing);
	subvolumes_missing(probes, spec, missing);
	devices_missing(probes, spec, missing);
}

/* Those of the stream's operations that use the hook. */
static uint64_t operations_of(const struct probes *probes, enum iotr_stream stream,
			      const struct probes_failure *failure)
{
	const char *slash = strrchr(failure->hook, '/');
	uint64_t operations = 0;

	for (size_t i = 0; slash && i < iotr_schemas[stream].operation_count; i++) {
		const char *reason, *text = probes_hook(probes, stream, i, &reason);

		if (text && strstr(text, slash + 1))
			operations |= 1ULL << i;
	}
	return operations;
}

static bool is_among(struct json_object *array, struct json_object *entry)
{
	for (size_t i = 0; i < json_object_array_length(array); i++)
		if (json_object_equal(json_object_array_get_idx(array, i), entry))
			return true;
	return false;
}

/* `operation` is empty if the hook serves more than one. */
static void add_failure(struct json_object *missing, enum iotr_stream stream, const char *operation,
			const struct probes_failure *failure)
{
	struct json_object *entry = json_object_new_object();
	char reason[256];

	snprintf(reason, sizeof(reason), "%s cannot be attached: %s%s", failure->hook,
		 strerror(-failure->error), failure->error == -EMFILE ? DESCRIPTORS_ADVICE : "");
	add_string(entry, "stream", iotr_schemas[stream].flag);
	add_string(entry, "operation", operation);
	add_string(entry, "hook", failure->hook);
	add_string(entry, "reason", reason);
	if (is_among(missing, entry))
		json_object_put(entry);
	else
		json_object_array_add(missing, entry);
}

static void stream_failure(const struct probes *probes, enum iotr_stream stream,
			   const struct probes_failure *failure, struct json_object *missing)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];
	uint64_t operations = operations_of(probes, stream, failure);

	if (!operations || operations == (1ULL << schema->operation_count) - 1) {
		add_failure(missing, stream, "", failure);
		return;
	}
	for (size_t i = 0; i < schema->operation_count; i++)
		if (operations >> i & 1)
			add_failure(missing, stream, schema->operations[i], failure);
}

void missing_add_failures(const struct probes *probes, const struct hookset_wish *wish, struct json_object *missing)
{
	size_t count;
	const struct probes_failure *failures = probes_failures(probes, &count);

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const struct hookset_wish own = { .streams = 1U << stream, .processes = wish->processes };
		uint32_t groups = hookset_groups(probes, &own);

		for (size_t i = 0; wish->streams >> stream & 1 && i < count; i++)
			if (groups >> failures[i].group & 1)
				stream_failure(probes, stream, &failures[i], missing);
	}
}

struct json_object *missing_operations(const struct probes *probes, enum iotr_stream stream)
{
	struct json_object *operations = json_object_new_array();

	for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++) {
		struct json_object *entry = json_object_new_object();
		const char *reason, *hook = probes_hook(probes, stream, i, &reason);

		add_string(entry, "name", iotr_schemas[stream].operations[i]);
		add_string(entry, hook ? "hook" : "reason", hook ?: reason);
		json_object_array_add(operations, entry);
	}
	return operations;
}

struct json_object *missing_hooks(const struct probes *probes, uint32_t streams)
{
	struct json_object *hooks = json_object_new_object();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (streams >> stream & 1)
			json_object_object_add(hooks, iotr_schemas[stream].flag,
					       missing_operations(probes, stream));
	return hooks;
}
