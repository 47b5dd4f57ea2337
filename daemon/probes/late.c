// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/late.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "cleanup.h"
#include "probes/dirtied.h"
#include "probes/program.h"
#include "thread.h"

/* Dirtied pages have tables, and before the kernel returns from showing one to programs, all programs that run have to end. */
static const uint32_t late_groups = 1U << PROBES_DIRTIED;

struct late {
	struct probes *probes;
	enum probes_group group;
	pthread_t thread;
	_Atomic bool done;
	size_t count;
	struct late_hook hooks[];
};

static void *work(void *userdata)
{
	struct late *late = userdata;

	if (late->group == PROBES_DIRTIED)
		dirtied_begin(late->probes);
	for (size_t i = 0; i < late->count; i++)
		late->hooks[i].result = program_link(late->hooks[i].program,
						     program_fd(late->probes, late->hooks[i].program));
	atomic_store(&late->done, true);
	eventfd_write(late->probes->notice, 1);
	return NULL;
}

/* With the programs of the group; NULL: no memory. */
static struct late *late_new(struct probes *probes, enum probes_group group)
{
	const struct bpf_object *object = object_of(probes, group);
	struct bpf_program *program;
	size_t count = 0;
	struct late *late;

	bpf_object__for_each_program(program, object)
		count += program_attaches(group, program);
	late = calloc(1, sizeof(*late) + count * sizeof(late->hooks[0]));
	if (!late)
		return NULL;
	late->probes = probes;
	late->group = group;
	bpf_object__for_each_program(program, object)
		if (program_attaches(group, program))
			late->hooks[late->count++].program = program;
	return late;
}

bool late_begin(struct probes *probes, enum probes_group group)
{
	_cleanup_free_ struct late *late = NULL;

	if (!(late_groups >> group & 1) || !probes->loading) /* without that nobody is told when it is done */
		return false;
	late = late_new(probes, group);
	if (!late || thread_start(&late->thread, work, late) < 0)
		return false;
	probes->late[group] = TAKE(late);
	return true;
}

bool late_busy(const struct probes *probes, enum probes_group group)
{
	return probes->late[group];
}

bool late_take(struct probes *probes, enum probes_group group, bool wait,
	       void (*take)(struct probes *probes, enum probes_group group, const struct late_hook *hook))
{
	_cleanup_free_ struct late *late = probes->late[group];

	if (!late || (!wait && !atomic_load(&late->done))) {
		TAKE(late);
		return false;
	}
	pthread_join(late->thread, NULL);
	probes->late[group] = NULL;
	for (size_t i = 0; i < late->count; i++)
		take(probes, group, &late->hooks[i]);
	return true;
}
