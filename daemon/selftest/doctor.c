// SPDX-License-Identifier: GPL-2.0-or-later
#include "selftest/doctor.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "cleanup.h"
#include "json_add.h"
#include "probes/control_page.h"
#include "probes/loading.h"
#include "schema.h"

struct doctor {
	struct selftest_config config;
	struct selftest *selftest;     /* the one that runs, or NULL */
	struct engine_doctor *waiting; /* requests that wait for it */
};

struct engine_doctor {
	struct doctor *doctor;
	doctor_handler handler;
	void *userdata;
	size_t attached; /* number of programs that were attached when the check was requested */
	struct loading_wait programs; /* linked in until they are loaded */
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

static void check_capabilities(struct probes *probes, size_t attached, struct json_object *checks)
{
	const struct kernel *kernel = probes_kernel(probes);
	bool loops = control_page_loops_known(probes), logs = control_page_logs_known(probes);
	bool subvolumes = control_page_subvolumes_known(probes, false);
	char detail[256];
	struct utsname host;

	uname(&host);
	check(checks, "kernel", true, host.release);
	check(checks, "level", true, probes_level_name(probes_level(probes)));
	if (kernel->refusal) {
		check(checks, "read kernel memory", false, kernel->refusal);
		return;
	}
	check(checks, "function hooks", kernel->function_hooks, kernel->function_reason);
	check(checks, "typed reads", kernel->typed_reads,
	      kernel->typed_reads ? "bpf_rdonly_cast" : "kernel fields are read through a helper");
	check(checks, "read kernel memory", true, "bpf_probe_read_kernel");
	check(checks, "loop devices", loops,
	      loops ? "what their threads write is of who wrote to them" :
		      "the kernel's types do not tell their files: what their threads write to these is nobody's");
	check(checks, "logs of file systems", logs,
	      logs ? "what is written to them is of who changed most" :
		     "the kernel's types do not tell those of XFS or btrfs: for whom these write their metadata is not known");
	check(checks, "subvolumes", subvolumes,
	      subvolumes ? "files on btrfs are known by their subvolume" :
			   "the kernel's types do not tell those of btrfs: files of its subvolumes may have the same device and inode");
	snprintf(detail, sizeof(detail), "%zu", attached);
	check(checks, "programs attached", true, detail);
	snprintf(detail, sizeof(detail), "%.1f MiB", probes_memory(probes) / 1048576.0);
	check(checks, "memory of maps and rings", true, detail);
}

/* Whether it is known who caused what is written later. */
static void check_dirtier(const struct probes *probes, struct json_object *checks)
{
	struct dirtier_lack lacks[DIRTIER_LACKS];
	size_t count = probes_dirtier_lacks(probes, true, lacks);

	for (size_t i = 0; i < count; i++)
		check(checks, "dirtier", false, lacks[i].reason);
	if (!count)
		check(checks, "dirtier", true, "what is written back is of who made it dirty, and a journal's of who changed most");
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

static void check_operations(const struct probes *probes, const struct selftest *selftest,
			     struct json_object *checks)
{
	char name[64];

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++) {
			const char *reason, *hook = probes_hook(probes, stream, i, &reason);
			struct json_object *entry;

			snprintf(name, sizeof(name), "%s.%s", iotr_schemas[stream].flag,
				 iotr_schemas[stream].operations[i]);
			entry = check(checks, name, hook, hook ?: reason);
			if (hook && selftest)
				add_verdict(entry, selftest, stream, i);
		}
}

/* `selftest` is NULL if there was none, for the reason given. */
static void answer(struct engine_doctor *request, const struct selftest *selftest, const char *reason)
{
	struct probes *probes = request->doctor->config.probes;
	struct json_object *checks = json_object_new_array();

	check_capabilities(probes, request->attached, checks);
	if (!probes_kernel(probes)->refusal)
		check_dirtier(probes, checks);
	check(checks, "self-test", !reason, reason ?: "the hooks were tried with I/O of its own");
	check_operations(probes, selftest, checks);
	request->handler(checks, request->userdata);
}

static void on_tested(const struct selftest *selftest, void *userdata)
{
	struct doctor *doctor = userdata;
	struct engine_doctor *request;

	doctor->selftest = NULL;
	while ((request = doctor->waiting)) {
		doctor->waiting = request->next;
		answer(request, selftest, selftest_trouble(selftest));
	}
}

static int on_untested(sd_event_source *source, void *userdata)
{
	struct engine_doctor *request = userdata;

	(void)source;
	answer(request, NULL, request->error.message);
	return 0;
}

static int wait_for_test(struct engine_doctor *request)
{
	struct doctor *doctor = request->doctor;
	const char *refusal = probes_kernel(doctor->config.probes)->refusal;
	int r = doctor->selftest ? 0 :
		refusal		 ? engine_fail(&request->error, -EOPNOTSUPP, NULL, refusal) :
				   selftest_new(&doctor->config, on_tested, doctor, &doctor->selftest, &request->error);

	if (r < 0)
		return sd_event_add_defer(doctor->config.event, &request->at_once, on_untested, request);
	request->next = doctor->waiting;
	doctor->waiting = request;
	return 0;
}

static void on_loaded(struct loading_wait *wait)
{
	struct engine_doctor *request = (struct engine_doctor *)((char *)wait - offsetof(struct engine_doctor, programs));

	if (wait_for_test(request) < 0)
		answer(request, NULL, request->error.message);
}

int doctor_ask(struct doctor *doctor, doctor_handler handler, void *userdata, struct engine_doctor **ret)
{
	struct engine_doctor *request = calloc(1, sizeof(*request));
	int r;

	if (!request)
		return -ENOMEM;
	*request = (struct engine_doctor){ .doctor = doctor, .handler = handler, .userdata = userdata };
	request->attached = doctor->waiting ? doctor->waiting->attached : probes_attached(doctor->config.probes);
	request->programs = (struct loading_wait){ .groups = LOADING_ALL, .loaded = on_loaded };
	r = loading_done(doctor->config.probes, LOADING_ALL) ? wait_for_test(request) : 0;
	if (r < 0) {
		free(request);
		return r;
	}
	if (!loading_done(doctor->config.probes, LOADING_ALL))
		loading_await(doctor->config.probes, &request->programs);
	*ret = request;
	return 0;
}

void doctor_leave(struct engine_doctor *request)
{
	if (!request)
		return;
	for (struct engine_doctor **at = &request->doctor->waiting; *at; at = &(*at)->next)
		if (*at == request) {
			*at = request->next;
			break;
		}
	loading_leave(request->doctor->config.probes, &request->programs);
	sd_event_source_disable_unref(request->at_once);
	free(request);
}

int doctor_new(const struct selftest_config *config, struct doctor **ret)
{
	struct doctor *doctor = calloc(1, sizeof(*doctor));

	if (!doctor)
		return -ENOMEM;
	doctor->config = *config;
	*ret = doctor;
	return 0;
}

void doctor_free(struct doctor *doctor)
{
	if (doctor && doctor->selftest)
		selftest_abort(doctor->selftest);
	free(doctor);
}
