// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of the cgroups that rows name: see cgroups/file.h. */
#include "writer_private.h"

#include <string.h>

#include "cgroups/file.h"
#include "json_add.h"
#include "log.h"

/*
 * The entry of the manifest: like that of a snapshot. `file`: NULL, and then the path is null, where there is none; with an error, it
 * is an older one.
 */
static struct json_object *describe(const struct writer *writer, const struct cgroup_list *list,
				    const struct cgroup_file *file, int error)
{
	const char *message = error < 0 ? strerror(-error) : list->message;
	struct json_object *entry;

	if (file) {
		entry = cgroup_file_describe(file);
	} else {
		entry = json_object_new_object();
		add_string(entry, "kind", CGROUPS_FOLDER);
		json_object_object_add(entry, "path", NULL);
	}
	manifest_add_time(entry, "started", list->from_ns, &writer->started_at);
	manifest_add_time(entry, "ended", list->to_ns, &writer->started_at);
	add_flag(entry, "complete", error >= 0 && list->count && !list->left_out && !*message);
	add_u64(entry, "skipped", list->left_out);
	if (*message)
		add_string(entry, "message", message);
	return entry;
}

/*
 * The last list could not be written, as when the disk is full: the one before it, which is whole, stays for good. Whether there is
 * one.
 */
static bool keep_older(const struct writer *writer, int error, struct cgroup_file *file)
{
	bool kept = cgroup_file_recover(writer->output_fd, file) >= 0;

	log_warning("%s: the table of cgroups cannot be written, so the cgroups of %s stay numbers: %s", writer->output,
		    kept ? "rows since it last was" : "its rows", strerror(-error));
	return kept;
}

/* While the session runs, what cannot be written is left to the next time. */
int writer_do_cgroups(void *owner, struct mail *mail)
{
	struct writer_mail *cgroups = (struct writer_mail *)mail;
	struct cgroup_list *list = cgroups->cgroups;
	struct iotr_anonymizer *anonymizer;
	struct writer *writer = owner;
	bool there = list->count > 0;
	struct cgroup_file file;
	int r = 0;

	anonymizer = writer->manifest.anonymizer;
	if (there)
		r = cgroup_file_write(writer->output_fd, writer->trace, list, anonymizer, cgroups->last, &file);
	if (!cgroups->last)
		return r;
	if (r < 0)
		there = keep_older(writer, r, &file);
	manifest_set_cgroups(&writer->manifest, describe(writer, list, there ? &file : NULL, r));
	writer->manifest_due = true;
	return r;
}
