/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Router, queue, writer and manifest together, as the engine uses them, and rows for them. */
#pragma once

#include "pipeline.h"

#include <errno.h>
#include <json-c/json.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "folder.h"
#include "suite.h"

#define BOTH (1 << IOTR_VFS | 1 << IOTR_BLOCK)

static struct folder folder;
static struct names *names;
static struct router *router;
static struct writer *writer;
static unsigned int drains;

/* The ring of names, with one name that comes after its row. */
static inline void drain_names(void *userdata)
{
	struct {
		struct iotr_name_record record;
		char text[8];
	} late = { { .id = 50, .inode = 50, .device = 1, .length = 5 }, "/late" };

	(void)userdata;
	drains++;
	ck_assert_int_eq(names_add(names, &late.record, sizeof(late)), 0);
}

static inline void begin_as(struct writer_config config)
{
	struct names_config names_config = { 0 };
	struct router_config router_config = { .drain_names = drain_names };

	config.session = "test";
	config.level = "function";
	config.owner_uid = 42;
	folder_begin(&folder);
	drains = 0;
	config.output = folder.path;
	config.output_fd = folder.fd;
	config.definition = json_tokener_parse("{\"pid\": [1, 2]}");
	config.hooks = json_tokener_parse("{\"vfs\": {\"READ\": \"sys_enter\"}}");
	ck_assert_int_eq(names_new(&names_config, &names), 0);
	router_config.names = names;
	ck_assert_int_eq(router_new(&router_config, &router), 0);
	ck_assert_int_eq(writer_new(&config, &writer), 0);
	ck_assert_int_eq(router_attach(router, 5, writer), 0);
	json_object_put(config.definition);
	json_object_put(config.hooks);
}

static inline void begin_with(uint32_t streams, size_t queue_size)
{
	begin_as((struct writer_config){ .streams = streams, .queue_size = queue_size });
}

static inline void begin(void)
{
	begin_with(BOTH, 0);
}

static inline void end(void)
{
	writer_free(writer);
	router_free(router);
	names_free(names);
	folder_end(&folder);
}

static inline struct iotr_vfs_record vfs_record(uint64_t start_ns)
{
	return (struct iotr_vfs_record){
		.head = { .size = sizeof(struct iotr_vfs_record), .stream = IOTR_VFS,
			  .sessions = 1 << 5, .start_ns = start_ns, .command = "test" },
		.file = { .inode = IOTR_UNKNOWN }, .size = 1, .has_size = 1, .offset = 2,
		.address = IOTR_UNKNOWN,
	};
}

static inline void send(const void *record, size_t size)
{
	router_row(router, record, size);
}

static inline void send_vfs(unsigned int count)
{
	router_begin(router);
	for (unsigned int i = 0; i < count; i++) {
		struct iotr_vfs_record record = vfs_record(1000000000 + i);

		send(&record, sizeof(record));
	}
	router_end(router);
}

static inline void send_block(void)
{
	struct iotr_block_record record = {
		.head = { .size = sizeof(record), .stream = IOTR_BLOCK, .sessions = ~0ULL,
			  .start_ns = 5 },
		.inode = 50, .inode_device = 1,
	};

	router_begin(router);
	send(&record, sizeof(record));
	router_end(router);
}

static inline struct writer_counts counts_of(enum iotr_stream stream)
{
	struct writer_counts counts;

	writer_counts(writer, stream, &counts);
	return counts;
}

static inline void check_balance(enum iotr_stream stream)
{
	struct writer_counts counts = counts_of(stream);

	ck_assert_uint_eq(counts.received, counts.written + counts.lost_queue + counts.lost_disk);
}

static inline struct json_object *read_manifest(void)
{
	char *text = folder_read(&folder, "manifest.json", NULL);
	struct json_object *object = json_tokener_parse(text);

	ck_assert_ptr_nonnull(object);
	ck_assert(!folder_has(&folder, "manifest.json.tmp"));
	free(text);
	return object;
}

/* The value at a path of keys and indices. */
static inline struct json_object *at(struct json_object *object, const char *pointer)
{
	struct json_object *found;

	ck_assert_msg(!json_pointer_get(object, pointer, &found), "%s is missing", pointer);
	return found;
}

static inline const char *text_at(struct json_object *object, const char *pointer)
{
	return json_object_get_string(at(object, pointer));
}

static inline uint64_t number_at(struct json_object *object, const char *pointer)
{
	return json_object_get_uint64(at(object, pointer));
}

/* The rows that `tail` got. */
struct tapped {
	_Atomic unsigned int rows;
	_Atomic size_t bytes;
};
