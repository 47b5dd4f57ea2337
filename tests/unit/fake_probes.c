// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "fake_disk.h"
#include "fake_ring.h"
#include "probes/control_page.h"
#include "probes/in_flight.h"
#include "probes/own.h"

struct fake_probes fake_probes;

void fake_probes_reset(void)
{
	fake_probes = (struct fake_probes){ 0 };
	fake_ring_reset();
}

/* ---- loading ---- */

static struct loading_wait *waiting;

int loading_begin(struct probes *probes, sd_event *event)
{
	(void)probes, (void)event;
	waiting = NULL;
	return 0;
}

bool loading_done(const struct probes *probes, uint32_t groups)
{
	(void)probes, (void)groups;
	return !fake_probes.loading;
}

void loading_await(struct probes *probes, struct loading_wait *wait)
{
	(void)probes;
	wait->next = waiting;
	waiting = wait;
}

void loading_leave(struct probes *probes, struct loading_wait *wait)
{
	(void)probes;
	for (struct loading_wait **at = &waiting; *at; at = &(*at)->next)
		if (*at == wait) {
			*at = wait->next;
			return;
		}
}

void fake_probes_tell(void)
{
	struct loading_wait *wait = waiting, *next;

	for (; wait && !fake_probes.loading; wait = next) {
		next = wait->next;
		if (wait->lacks & fake_probes.lacks)
			continue;
		loading_leave(NULL, wait);
		wait->loaded(wait);
	}
}

void fake_probes_loaded(void)
{
	fake_probes.loading = false;
	fake_probes.lacks = 0;
	fake_probes_tell();
}

/* ---- paths ---- */

int paths_find(const struct iotr_session_spec *spec, struct paths_found **ret, struct filter_error *error)
{
	(void)spec;
	fake_disk_await();
	*ret = calloc(1, sizeof(**ret));
	return fake_probes.path_error ? filter_fail(error, -EINVAL, "paths", "%s", fake_probes.path_error) : 0;
}

void paths_found_free(struct paths_found *found)
{
	free(found);
}

/* ---- the control page ---- */

int control_page_check(const struct iotr_session_spec *spec, struct filter_error *error)
{
	(void)spec, (void)error;
	return 0;
}

int control_page_prepare(struct probes *probes, unsigned int session, const struct iotr_session_spec *spec,
			 const struct paths_found *paths, struct filter_error *error)
{
	(void)probes, (void)paths;
	if (fake_probes.prepare_error)
		return filter_fail(error, -EINVAL, "uids", "%s", fake_probes.prepare_error);
	fake_probes.prepared[session] = true;
	fake_probes.streams[session] = spec->streams;
	return 0;
}

void control_page_open(struct probes *probes, unsigned int session, int instead)
{
	(void)probes;
	fake_probes.open[session] = true;
	if (instead >= 0)
		fake_probes.open[instead] = false;
}

int control_page_set(struct probes *probes, unsigned int session, const struct iotr_session_spec *spec,
		     const struct paths_found *paths, struct filter_error *error)
{
	int r = control_page_prepare(probes, session, spec, paths, error);

	if (r >= 0)
		control_page_open(probes, session, -1);
	return r;
}

void control_page_block(struct probes *probes, const char *flag_names[32])
{
	(void)probes;
	memset(flag_names, 0, 32 * sizeof(*flag_names));
}

void control_page_shut(struct probes *probes, uint64_t slots)
{
	(void)probes;
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		fake_probes.open[bit] &= !(slots >> bit & 1);
}

void control_page_clear(struct probes *probes, unsigned int session)
{
	(void)probes;
	fake_probes.prepared[session] = false;
	fake_probes.open[session] = false;
}

int control_page_inherit(struct probes *probes, unsigned int session, unsigned int from)
{
	(void)probes, (void)session, (void)from;
	return 0;
}

int control_page_follow(struct probes *probes, unsigned int session, uint32_t process)
{
	(void)probes, (void)session, (void)process;
	return 0;
}

void control_page_unfollow(struct probes *probes, unsigned int session, uint32_t process)
{
	(void)probes, (void)session, (void)process;
}

uint64_t control_page_unfollowed(struct probes *probes, unsigned int session)
{
	(void)probes, (void)session;
	return 0;
}

bool control_page_loops_known(struct probes *probes)
{
	(void)probes;
	return true;
}

bool control_page_subvolumes_known(const struct probes *probes, bool mounted)
{
	(void)probes, (void)mounted;
	return true;
}

bool control_page_logs_known(struct probes *probes)
{
	(void)probes;
	return true;
}

uint64_t control_page_forgotten(struct probes *probes)
{
	(void)probes;
	return 0;
}

void control_page_modules(struct probes *probes)
{
	(void)probes;
}

void in_flight_count(struct probes *probes, struct in_flight *ret)
{
	(void)probes;
	*ret = (struct in_flight){ .slots = fake_probes.in_flight };
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		ret->count[IOTR_VFS][bit] = fake_probes.in_flight >> bit & 1;
}

bool probes_lacked_memory(const struct probes *probes)
{
	(void)probes;
	return false;
}

void in_flight_each(struct probes *probes, uint64_t slots, in_flight_found found, void *userdata)
{
	const struct in_flight_event event = { .stream = IOTR_VFS, .operation = IN_FLIGHT_NO_OPERATION, .since_ns = 1,
					       .pid = 1, .tid = 1, .fd = IN_FLIGHT_NO_FD };

	(void)probes;
	if (fake_probes.in_flight & slots)
		found(&event, userdata);
}

/* ---- own processes ---- */

void own_count(const struct probes *probes, struct own_counts *ret)
{
	(void)probes;
	*ret = (struct own_counts){ .processes = 1 };
}

void own_add(struct probes *probes, pid_t process)
{
	(void)probes, (void)process;
}

void own_remove(struct probes *probes, pid_t process)
{
	(void)probes, (void)process;
}

/* ---- programs, maps and rings ---- */

int probes_new(const struct probes_config *config, struct probes **ret, char *why, size_t why_size)
{
	(void)config, (void)why, (void)why_size;
	*ret = NULL;
	return 0;
}

void probes_free(struct probes *probes)
{
	(void)probes;
}

const struct kernel *probes_kernel(const struct probes *probes)
{
	static const struct kernel kernel = { .function_reason = "not here" };

	(void)probes;
	return &kernel;
}

uint64_t *probes_known(struct probes *probes)
{
	static uint64_t known[IOTR_KNOWN];

	(void)probes;
	return known;
}

int probes_map(const struct probes *probes, const char *name)
{
	(void)probes, (void)name;
	return FAKE_RING_NAMES;
}

const int *probes_rings(const struct probes *probes, size_t *count)
{
	static const int rings[] = { FAKE_RING_ROWS };

	(void)probes;
	*count = sizeof(rings) / sizeof(rings[0]);
	return rings;
}

uint64_t probes_memory(const struct probes *probes)
{
	(void)probes;
	return 0;
}

size_t probes_attached(const struct probes *probes)
{
	size_t count = 0;

	(void)probes;
	for (size_t group = 0; group < PROBES_GROUP_COUNT; group++)
		count += fake_probes.attached[group];
	return count;
}

uint32_t probes_stream_groups(enum iotr_stream stream)
{
	return stream == IOTR_BLOCK ? 1U << PROBES_BLOCK : 1U << PROBES_CALLS;
}

uint32_t probes_groups(const struct probes *probes, uint32_t groups)
{
	(void)probes;
	return groups;
}

int probes_attach(struct probes *probes, enum probes_group group)
{
	(void)probes;
	fake_probes.attached[group] = true;
	return 0;
}

void probes_follow_cpus(struct probes *probes)
{
	(void)probes;
}

bool probes_is_attached(const struct probes *probes, enum probes_group group)
{
	(void)probes;
	return fake_probes.attached[group];
}

uint32_t probes_lacks(const struct probes *probes)
{
	(void)probes;
	return fake_probes.lacks;
}

const char *probes_stand_in(const struct probes *probes)
{
	(void)probes;
	return NULL;
}

void probes_see_to(struct probes *probes)
{
	(void)probes;
}

void probes_detach(struct probes *probes, enum probes_group group)
{
	(void)probes;
	fake_probes.attached[group] = false;
}

const struct probes_failure *probes_failures(const struct probes *probes, size_t *count)
{
	(void)probes;
	*count = 0;
	return NULL;
}

enum probes_level probes_level(const struct probes *probes)
{
	(void)probes;
	return PROBES_TRACEPOINT;
}

size_t probes_dirtier_lacks(const struct probes *probes, bool blocks, struct dirtier_lack lacks[DIRTIER_LACKS])
{
	(void)probes, (void)blocks;
	if (fake_probes.lack)
		lacks[0] = *fake_probes.lack;
	return fake_probes.lack ? 1 : 0;
}

const char *probes_hook(const struct probes *probes, enum iotr_stream stream, unsigned int operation,
			const char **reason)
{
	(void)probes;
	*reason = "this kernel has no hook for it";
	return iotr_operations_have(&fake_probes.hookless[stream], operation) ? NULL : "fake";
}

/* ---- counts ---- */

void probes_loss(const struct probes *probes, enum iotr_stream stream, unsigned int session,
		 struct probes_loss *loss)
{
	(void)probes;
	fake_ring_loss(stream, session, loss);
}

bool probes_losses(const struct probes *probes, enum iotr_stream stream, struct probes_loss *losses, size_t count)
{
	(void)probes;
	for (size_t i = 0; i < count; i++)
		fake_ring_loss(stream, i, &losses[i]);
	return true;
}

uint64_t probes_missed(const struct probes *probes, uint32_t groups)
{
	(void)probes, (void)groups;
	return 0;
}

void probes_runs(const struct probes *probes, struct probes_runs *runs)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	(void)probes;
	*runs = (struct probes_runs){ .count = now_ns / 100000, .ns = now_ns / 400 };
}

/* In place of libbpf's, which asks the kernel to count runs and returns what keeps it at that. */
int bpf_enable_stats(enum bpf_stats_type type)
{
	(void)type;
	return eventfd(0, EFD_CLOEXEC);
}
