// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroups/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups/identity.h"
#include "cleanup.h"
#include "clocks.h"
#include "escape.h"
#include "events.h"
#include "inside.h"
#include "json_add.h"
#include "schema.h"
#include "storage/trace.h"
#include "write_all.h"

#define HEADER	    IOTR_HEADER(IOTR_CGROUPS_COLUMNS)
#define PART	    CGROUPS_NAME ".part"
#define NEW	    CGROUPS_NAME ".new.part" /* until it is whole */
#define PATH_BYTES  8192 /* of a path, see session/groups.c */
#define CELL_BYTES  (IOTR_ANONYMIZED_MAX(ESCAPE_MAX(PATH_BYTES)) + 2)
#define ROW_BYTES   (CELL_BYTES + 3 * IOTR_ANONYMIZED_MAX(ESCAPE_MAX(CGROUP_UNIT_SIZE)) + 200)
#define BUFFER_SIZE (2 * ROW_BYTES)

/* While one is written. */
struct output {
	int fd;
	struct trace *trace;
	uint64_t limit; /* bytes of the file */
	struct iotr_anonymizer *anonymizer;
	struct sha256_ctx hash;
	struct cgroup_file *file;
	size_t used;
	char escaped[ESCAPE_MAX(PATH_BYTES)];
	char buffer[BUFFER_SIZE];
};

/* ---- rows ---- */

static int flush(struct output *out)
{
	int r = trace_take(out->trace, out->used, TRACE_ROOM_OLDEST);

	if (r < 0)
		return r;
	out->file->bytes += out->used;
	sha256_update(&out->hash, out->used, (const uint8_t *)out->buffer);
	r = write_all(out->fd, out->buffer, out->used);
	out->used = 0;
	return r;
}

static void put(struct output *out, const char *text, size_t length)
{
	memcpy(out->buffer + out->used, text, length);
	out->used += length;
}

/* A cell and the comma after it. */
static void put_name(struct output *out, const char *name, enum iotr_privacy privacy)
{
	size_t length = escape_field(name, strnlen(name, PATH_BYTES), out->escaped);

	if (out->anonymizer)
		out->used += iotr_anonymize(out->anonymizer, privacy, out->escaped, length, out->buffer + out->used);
	else
		put(out, out->escaped, length);
	put(out, ",", 1);
}

static void put_time(struct output *out, uint64_t mono_ns, const char *after)
{
	char text[CLOCKS_TEXT_MAX];

	clocks_format(text, mono_ns + (uint64_t)clocks_at(mono_ns).offset_ns);
	put(out, text, strlen(text));
	put(out, after, 1);
}

/* False: the row would make the table larger than its limit, and is left out. */
static bool put_row(struct output *out, const struct cgroup_list *list, const struct cgroup_entry *entry)
{
	size_t before = out->used;
	const char *path = cgroup_list_path(list, entry);
	struct cgroup_identity identity;
	char id[24];

	cgroup_identify(path, &identity);
	put(out, id, (size_t)snprintf(id, sizeof(id), "%llu,", (unsigned long long)entry->id));
	put_name(out, path, IOTR_PRIVACY_PATH);
	put_name(out, identity.unit, IOTR_PRIVACY_NAME);
	put_name(out, identity.container_id, IOTR_PRIVACY_NAME);
	put_name(out, identity.pod_uid, IOTR_PRIVACY_NAME);
	put_time(out, entry->first_ns, ",");
	put_time(out, entry->last_ns, "\n");
	if (out->file->bytes + out->used > out->limit) {
		out->used = before;
		return false;
	}
	out->file->rows++;
	return true;
}

static int put_all(struct output *out, const struct cgroup_list *list)
{
	int r = 0;

	sha256_init(&out->hash);
	put(out, HEADER, strlen(HEADER));
	for (size_t i = 0; i < list->count && r >= 0; i++) {
		if (!put_row(out, list, &list->entries[i]))
			break;
		if (BUFFER_SIZE - out->used < ROW_BYTES)
			r = flush(out);
	}
	if (r >= 0)
		r = flush(out);
	sha256_hex(&out->hash, out->file->sha256);
	return r;
}

/* ---- the file ---- */

static int open_folder(int folder_fd)
{
	int fd = inside_make_folder(folder_fd, CGROUPS_FOLDER);

	return fd == -EEXIST ? inside_folder(folder_fd, CGROUPS_FOLDER) : fd;
}

static uint64_t size_of(int folder, const char *name)
{
	struct stat status;

	return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : (uint64_t)status.st_size;
}

static int write_list(int folder, struct output *out, const struct cgroup_list *list, bool last)
{
	int r;

	if (unlinkat(folder, NEW, 0) < 0 && errno != ENOENT)
		return -errno;
	out->fd = inside_create(folder, NEW, O_WRONLY);
	if (out->fd < 0)
		return out->fd;
	r = put_all(out, list);
	if (r >= 0 && last && fsync(out->fd) < 0)
		r = -errno;
	if (close(out->fd) < 0 && r >= 0)
		r = -errno;
	return r;
}

/* The new file takes the old one's place under the name; under its final name it has no older one beside it. */
static int put_in_place(int folder, struct trace *trace, bool last)
{
	uint64_t before = size_of(folder, PART);

	if (renameat(folder, NEW, folder, last ? CGROUPS_NAME : PART) < 0)
		return -errno;
	if (last)
		unlinkat(folder, PART, 0);
	trace_give(trace, before);
	return 0;
}

/* What is beyond the limit is left out like what was beyond the memory for cgroups. */
static void tell_of_limit(struct cgroup_list *list, uint64_t rows)
{
	list->left_out += list->count - rows;
	if (list->count > rows && !*list->message)
		snprintf(list->message, sizeof(list->message), "the limit of storage leaves no room for more");
}

int cgroup_file_write(int folder_fd, struct trace *trace, struct cgroup_list *list, struct iotr_anonymizer *anonymizer,
		      bool last, struct cgroup_file *ret)
{
	_cleanup_free_ struct output *out = calloc(1, sizeof(*out));
	_cleanup_close_ int folder = -1;
	int r;

	*ret = (struct cgroup_file){ 0 };
	if (!out)
		return -ENOMEM;
	out->trace = trace;
	out->limit = trace_table_limit(trace);
	out->anonymizer = anonymizer;
	out->file = ret;
	folder = open_folder(folder_fd);
	if (folder < 0)
		return folder;
	cgroup_list_sort(list);
	r = write_list(folder, out, list, last);
	if (r >= 0)
		r = put_in_place(folder, trace, last);
	if (r >= 0)
		tell_of_limit(list, ret->rows);
	trace_settle(trace, ret->bytes, r < 0 ? 0 : ret->bytes);
	if (r < 0)
		unlinkat(folder, NEW, 0);
	return r;
}

void cgroup_file_remove(int folder_fd)
{
	_cleanup_close_ int folder = inside_folder(folder_fd, CGROUPS_FOLDER);

	if (folder < 0)
		return;
	unlinkat(folder, NEW, 0);
	unlinkat(folder, PART, 0);
	unlinkat(folder, CGROUPS_NAME, 0);
	unlinkat(folder_fd, CGROUPS_FOLDER, AT_REMOVEDIR);
}

struct json_object *cgroup_file_describe(const struct cgroup_file *file)
{
	struct json_object *object = json_object_new_object();

	add_string(object, "kind", CGROUPS_FOLDER);
	add_string(object, "path", CGROUPS_FOLDER "/" CGROUPS_NAME);
	add_u64(object, "rows", file->rows);
	add_u64(object, "bytes", file->bytes);
	add_u64(object, "stored_bytes", file->bytes);
	add_string(object, "sha256", file->sha256);
	return object;
}

/* ---- without the last list ---- */

/* Counts and sums up what is there. It was written as a whole, so its lines are. */
static int read_file(int folder, const char *name, struct cgroup_file *ret)
{
	_cleanup_close_ int fd = inside_open(folder, name, O_RDONLY, UINT64_MAX);
	struct sha256_ctx hash;
	char buffer[4096];
	ssize_t n = 0;

	*ret = (struct cgroup_file){ 0 };
	sha256_init(&hash);
	while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0) {
		sha256_update(&hash, (size_t)n, (const uint8_t *)buffer);
		ret->bytes += (uint64_t)n;
		for (ssize_t i = 0; i < n; i++)
			ret->rows += buffer[i] == '\n';
	}
	sha256_hex(&hash, ret->sha256);
	if (fd < 0 || n < 0)
		return fd < 0 ? fd : -errno;
	if (!ret->rows)
		return -ENODATA;
	ret->rows--; /* the header */
	return 0;
}

int cgroup_file_recover(int folder_fd, struct cgroup_file *ret)
{
	_cleanup_close_ int folder = inside_folder(folder_fd, CGROUPS_FOLDER);

	if (folder < 0)
		return folder;
	unlinkat(folder, NEW, 0);
	if (faccessat(folder, CGROUPS_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    renameat(folder, PART, folder, CGROUPS_NAME) < 0)
		return -errno;
	unlinkat(folder, PART, 0);
	return read_file(folder, CGROUPS_NAME, ret);
}
