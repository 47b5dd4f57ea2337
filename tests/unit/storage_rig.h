/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A storage with its thread, traces of it and their files. */
#pragma once

#include "storage/storage.h"

#include <json-c/json.h>
#include <limits.h>
#include <poll.h>

#include "folder.h"
#include "suite.h"

#define SIZE (64 * 1024) /* of a segment */

static const struct rights own;
static struct folder logs;
static struct storage *storage;
static struct trace *trace;

static inline void begin(uint64_t max_use, uint64_t keep_free)
{
	const struct storage_limits limits = { max_use, keep_free };

	folder_begin(&logs);
	ck_assert_int_eq(storage_new(logs.path, &own, &limits, NULL, &storage), 0);
}

static inline void end(void)
{
	trace_free(trace);
	trace = NULL;
	storage_free(storage);
	folder_end(&logs);
}

/* NAME/START below the log folder. */
static inline struct trace *add_trace(const char *name, const struct trace_config *how)
{
	struct trace_config config = *how;
	struct trace *added;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", logs.path, name);
	mkdir(path, 0700);
	strcat(path, "/start");
	mkdir(path, 0700);
	config.path = path;
	config.streams = 1 << IOTR_VFS;
	config.folder_fd = open(path, O_RDONLY | O_DIRECTORY);
	mkdirat(config.folder_fd, "fs", 0700);
	ck_assert_int_eq(storage_add(storage, &config, &added), 0);
	close(config.folder_fd);
	return added;
}

static inline void write_file(const char *path, size_t size)
{
	int fd = openat(logs.fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	FILE *file = fdopen(fd, "w");

	ck_assert_ptr_nonnull(file);
	for (size_t i = 0; i < size; i += 16)
		fprintf(file, "%015zx\n", i * 2654435761u);
	fflush(file);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	fclose(file);
}

static inline char *path_of(const char *name, unsigned int number, const char *ending)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/start/fs/fs_%06u.csv%s", name, number, ending);
	return path;
}

/* Reserves space, and makes a closed segment of that size. */
static inline int add_segment(struct trace *to, const char *name, unsigned int number)
{
	int error = trace_take(to, SIZE, TRACE_ROOM_OLDEST);
	char file[32];

	if (error < 0)
		return error;
	write_file(path_of(name, number, ""), SIZE);
	trace_settle(to, SIZE, SIZE);
	snprintf(file, sizeof(file), "fs_%06u.csv", number);
	trace_closing(to, IOTR_VFS);
	trace_closed(to, IOTR_VFS, number, file, SIZE, 10);
	return 0;
}

static inline bool has(const char *name, unsigned int number, const char *ending)
{
	return folder_has(&logs, path_of(name, number, ending));
}

static inline uint64_t used(struct trace *of)
{
	struct trace_counts counts;

	trace_counts(of, &counts);
	return counts.used;
}

static inline void wait_compressed(struct trace *of)
{
	struct trace_counts counts;

	for (int i = 0; i < 1000; i++) {
		trace_counts(of, &counts);
		if (!counts.waiting)
			return;
		poll(NULL, 0, 10);
	}
	ck_abort_msg("%llu segments still wait", (unsigned long long)counts.waiting);
}

static const char manifest_text[] =
	"{ \"streams\": { \"vfs\": { \"written\": 30, \"removed\": 5 } }, \"segments\": ["
	" { \"stream\": \"vfs\", \"path\": \"fs/fs_000001.csv\", \"state\": \"closed\","
	"   \"rows\": 10, \"bytes\": 65536 },"
	" { \"stream\": \"vfs\", \"path\": \"fs/fs_000002.csv\", \"state\": \"closed\","
	"   \"rows\": 20, \"bytes\": 65536 } ] }";

static inline void write_manifest(struct trace *to, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/start/manifest.json", name);
	fd = openat(logs.fd, path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(trace_take(to, strlen(manifest_text), TRACE_ROOM_NONE), 0);
	ck_assert_int_eq(dprintf(fd, "%s", manifest_text), (int)strlen(manifest_text));
	trace_settle(to, strlen(manifest_text), strlen(manifest_text));
	close(fd);
}

static inline const char *manifest_at(const char *name, const char *pointer)
{
	struct json_object *manifest, *found = NULL;
	static char value[128];
	char path[64], *text;

	snprintf(path, sizeof(path), "%s/start/manifest.json", name);
	text = folder_read(&logs, path, NULL);
	manifest = json_tokener_parse(text);
	free(text);
	ck_assert_ptr_nonnull(manifest);
	json_pointer_get(manifest, pointer, &found);
	snprintf(value, sizeof(value), "%s", json_object_get_string(found));
	json_object_put(manifest);
	return value;
}

static inline void wait_manifest(const char *name, const char *pointer, const char *value)
{
	for (int i = 0; i < 500 && strcmp(manifest_at(name, pointer), value); i++)
		poll(NULL, 0, 10);
	ck_assert_str_eq(manifest_at(name, pointer), value);
}
