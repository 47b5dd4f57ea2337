// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks, as JSON, of what the kernel lets the daemon do, and whether the hooks really give rows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cleanup.h"
#include "engine_selftest.h"
#include "schema.h"

struct engine_doctor {
	struct engine *engine;
	engine_doctor_handler handler; /* NULL once it was called */
	void *userdata;
	size_t attached; /* number of programs that were attached when the check was requested */
	sd_event_source *at_once; /* answers at the next turn of the loop when there is no self-test to wait for */
	struct engine_error error; /* why there is no self-test */
	struct engine_doctor *next;
};

static struct json_object *check(struct json_object *checks, const char *name, bool ok, const char *detail)
{
	struct json_object *entry = json_object_new_object();

	add_string(entry, "check", name);
	add_flag(entry, "ok", ok);
	add_string(entry, "detail", detail);
	json_object_array_add(checks, entry);
	return entry;
}

static void check_capabilities(const struct engine *engine, size_t attached, struct json_object *checks)
{
	const struct kernel *kernel = probes_kernel(engine->probes);
	char detail[256];
	struct utsname host;

	uname(&host);
	check(checks, "kernel", true, host.release);
	check(checks, "level", true, level_name(probes_level(engine->probes)));
	check(checks, "function hooks", kernel->function_hooks, kernel->function_reason);
	check(checks, "typed reads", kernel->typed_reads,
	      kernel->typed_reads ? "bpf_rdonly_cast" : "kernel fields are read through a helper");
	check(checks, "read kernel memory", kernel->read_kernel,
	      kernel->read_kernel ? "bpf_probe_read_kernel" : "refused: no file names");
	snprintf(detail, sizeof(detail), "%zu", attached);
	check(checks, "programs attached", true, detail);
	snprintf(detail, sizeof(detail), "%.1f MiB", probes_memory(engine->probes) / 1048576.0);
	check(checks, "memory of maps and rings", true, detail);
}

static void add_verdict(struct json_object *entry, const struct selftest *selftest,
			enum iotr_stream stream, size_t operation)
{
	static const char *const names[] = {
		[SELFTEST_UNTRIED] = "untried",
		[SELFTEST_UNSURE] = "unsure",
		[SELFTEST_NONE] = "none",
		[SELFTEST_ROWS] = "rows",
	};
	uint32_t rows;
	enum selftest_verdict verdict = selftest_verdict(selftest, stream, operation, &rows);

	add_string(entry, "test", names[verdict]);
	add_u64(entry, "rows", rows);
	if (verdict == SELFTEST_NONE)
		add_flag(entry, "ok", false);
}

static void check_operations(const struct engine *engine, const struct selftest *selftest,
			     struct json_object *checks)
{
	char name[64];

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++) {
			const char *reason, *hook = probes_hook(engine->probes, stream, i, &reason);
			struct json_object *entry;

			snprintf(name, sizeof(name), "%s.%s", iotr_schemas[stream].flag,
				 iotr_schemas[stream].operations[i]);
			entry = check(checks, name, hook, hook ?: reason);
			if (hook && selftest)
				add_verdict(entry, selftest, stream, i);
		}
}

/* `selftest` is NULL if there was none, for the reason given. */
static void answer(struct engine_doctor *doctor, const struct selftest *selftest, const char *reason)
{
	struct json_object *checks = json_object_new_array();
	engine_doctor_handler handler = doctor->handler;

	doctor->handler = NULL;
	check_capabilities(doctor->engine, doctor->attached, checks);
	check(checks, "self-test", !reason, reason ?: "the hooks were tried with I/O of its own");
	check_operations(doctor->engine, selftest, checks);
	if (handler)
		handler(checks, doctor->userdata);
	else
		json_object_put(checks);
}

static void on_tested(struct selftest *selftest, void *userdata)
{
	struct engine *engine = userdata;
	struct engine_doctor *doctor;

	while ((doctor = engine->doctors)) {
		engine->doctors = doctor->next;
		answer(doctor, selftest, selftest_trouble(selftest));
	}
}

static int on_untested(sd_event_source *source, void *userdata)
{
	struct engine_doctor *doctor = userdata;

	(void)source;
	answer(doctor, NULL, doctor->error.message);
	return 0;
}

static int wait_for_test(struct engine_doctor *doctor)
{
	struct engine *engine = doctor->engine;
	int r = engine->selftest ? 0 : selftest_start(engine, on_tested, engine, &doctor->error);

	if (r < 0)
		return sd_event_add_defer(engine->event, &doctor->at_once, on_untested, doctor);
	doctor->next = engine->doctors;
	engine->doctors = doctor;
	return 0;
}

int engine_doctor_new(struct engine *engine, engine_doctor_handler handler, void *userdata,
		      struct engine_doctor **ret)
{
	struct engine_doctor *doctor = calloc(1, sizeof(*doctor));
	int r;

	if (!doctor)
		return -ENOMEM;
	*doctor = (struct engine_doctor){ .engine = engine, .handler = handler, .userdata = userdata };
	doctor->attached = engine->doctors ? engine->doctors->attached : probes_attached(engine->probes);
	r = wait_for_test(doctor);
	if (r < 0) {
		free(doctor);
		return r;
	}
	*ret = doctor;
	return 0;
}

void engine_doctor_free(struct engine_doctor *doctor)
{
	if (!doctor)
		return;
	for (struct engine_doctor **at = &doctor->engine->doctors; *at; at = &(*at)->next)
		if (*at == doctor) {
			*at = doctor->next;
			break;
		}
	sd_event_source_disable_unref(doctor->at_once);
	free(doctor);
}
