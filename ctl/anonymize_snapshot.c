// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots of a trace: tables of known columns become new ones, what else there is stays behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "anonymize.h"
#include "cleanup.h"
#include "output.h"
#include "verb.h"

DEFINE_CLEANUP(DIR *, closedir);

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define WORD(name)    { name, IOTR_TYPE_WORD, "", "" }

static const struct iotr_column filesystem_columns[] = {
	WORD("snapshot_timestamp"), { "path", IOTR_TYPE_PATH, "", "" }, WORD("type"), WORD("size"),
	WORD("creation_time"), WORD("modification_time"), WORD("access_time"), WORD("inode"),
	WORD("device"), WORD("links"),
};

static const struct iotr_column process_columns[] = {
	WORD("timestamp"), WORD("pid"), WORD("ppid"), { "name", IOTR_TYPE_COMMAND, "", "" },
	{ "cmdline", IOTR_TYPE_TEXT, "", "" }, WORD("vms_kb"), WORD("rss_kb"), WORD("creation_time"),
	WORD("cpu_5s"), WORD("cpu_2m"), WORD("cpu_1h"), WORD("status"), WORD("uid"),
	{ "cgroup", IOTR_TYPE_PATH, "", "" },
};

/* By their folder. */
static const struct kind {
	const char *folder;
	struct anonymize_known known;
} kinds[] = {
	{ "filesystem_snapshot", { filesystem_columns, LENGTH(filesystem_columns) } },
	{ "process", { process_columns, LENGTH(process_columns) } },
};

enum { HEADER_MAX = 1024, COLUMNS_MAX = 32 };

/* A snapshot's file as if it were a segment of a stream. */
struct snapshot_table {
	const char *names[COLUMNS_MAX];
	char header[HEADER_MAX];
	struct verify_stream stream;
	struct verify_segment segment;
};

/* FOLDER/NAME.csv or .csv.gz, and no other folder on the way. */
static const struct kind *kind_of(const char *path, const char **name)
{
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		size_t length = strlen(kinds[i].folder);
		const char *ending = strrchr(path, '.');

		if (strncmp(path, kinds[i].folder, length) || path[length] != '/' ||
		    strlen(path) >= sizeof(((struct verify_segment *)0)->path))
			continue;
		*name = path + length + 1;
		if (strchr(*name, '/') || **name == '.')
			continue;
		if (ending && (!strcmp(ending, ".csv") || (!strcmp(ending, ".gz") && strstr(*name, ".csv.gz"))))
			return &kinds[i];
	}
	return NULL;
}

static void describe(struct snapshot_table *table, const struct kind *kind, const char *path)
{
	char *at = table->header;

	for (size_t i = 0; i < kind->known.count; i++) {
		table->names[i] = kind->known.columns[i].name;
		at = stpcpy(at, table->names[i]);
		*at++ = ',';
	}
	at[-1] = '\n';
	table->stream = (struct verify_stream){
		.flag = kind->folder,
		.folder = kind->folder,
		.names = table->names,
		.columns = { .names = table->names, .count = kind->known.count, .header = table->header,
			     .header_size = (size_t)(at - table->header) },
	};
	table->segment = (struct verify_segment){ .stream = &table->stream, .format = VERIFY_CSV };
	snprintf(table->segment.path, sizeof(table->segment.path), "%s", path);
}

static void update(struct json_object *entry, const struct anonymize_written *written)
{
	json_object_object_add(entry, "rows", json_object_new_uint64(written->rows));
	json_object_object_add(entry, "bytes", json_object_new_uint64(written->bytes));
	json_object_object_add(entry, "stored_bytes", json_object_new_uint64(written->stored));
	json_object_object_add(entry, "sha256", json_object_new_string(written->sha256));
}

static int one_snapshot(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, const struct kind *kind,
			const char *name, struct json_object *entry, int to_fd)
{
	_cleanup_close_ int to = anonymize_folder(to_fd, kind->folder), from = -1;
	struct anonymize_written written;
	struct snapshot_table table;
	int code;

	from = openat(trace->folder_fd, kind->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		complain(NULL, "%s: %s", kind->folder, strerror(errno));
	if (from < 0 || to < 0)
		return EXIT_FAILED;
	describe(&table, kind, text_of(entry, "path", ""));
	code = anonymize_segment(anonymizer, &table.segment, &kind->known, name, from, to, &written);
	if (code != EXIT_DONE)
		return code;
	if (member_of(entry, "rows") && number_of(entry, "rows") != written.rows) {
		complain(NULL, "%s has other rows than the manifest says", table.segment.path);
		return EXIT_FAILED;
	}
	update(entry, &written);
	return EXIT_DONE;
}

static bool is_listed(struct json_object *snapshots, const char *path)
{
	for (size_t i = 0; i < count_of(snapshots); i++)
		if (!strcmp(text_of(json_object_array_get_idx(snapshots, i), "path", ""), path))
			return true;
	return false;
}

bool anonymize_snapshot_folder(struct verify_trace *trace, const char *folder, struct json_object *left_out)
{
	struct json_object *snapshots = member_of(trace->json, "snapshots");
	size_t length = strlen(folder);
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < count_of(snapshots); i++) {
		const char *path = text_of(json_object_array_get_idx(snapshots, i), "path", "");

		if (!strncmp(path, folder, length) && path[length] == '/')
			fd = openat(trace->folder_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return false;
	_cleanup_(closedirp) DIR *entries = fdopendir(fd);
	const struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		char path[2 * NAME_MAX + 2];

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && !is_listed(snapshots, path))
			json_object_array_add(left_out, json_object_new_string(path));
	}
	return true;
}

int anonymize_snapshots(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
			struct anonymize_totals *totals)
{
	struct json_object *snapshots = member_of(trace->json, "snapshots"), *kept;
	int code = EXIT_DONE;

	if (!json_object_is_type(snapshots, json_type_array))
		return EXIT_DONE;
	kept = json_object_new_array();
	for (size_t i = 0; code == EXIT_DONE && i < count_of(snapshots); i++) {
		struct json_object *entry = json_object_array_get_idx(snapshots, i);
		const char *path = text_of(entry, "path", NULL), *name;
		const struct kind *kind = path ? kind_of(path, &name) : NULL;

		if (kind)
			code = one_snapshot(anonymizer, trace, kind, name, entry, to_fd);
		if (kind || !path)
			json_object_array_add(kept, json_object_get(entry));
		else
			json_object_array_add(totals->left_out, json_object_new_string(path));
	}
	json_object_object_add(trace->json, "snapshots", kept);
	return code;
}
