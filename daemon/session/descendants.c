// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/descendants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "probes/control_page.h"

#define NUMBERS	     (1U << 22) /* upper bound of process numbers, the kernel's own limit */
/* A process that creates children faster than we read the list is given up after so many. */
#define READINGS_MAX 64

struct relation {
	uint32_t process, parent;
};

struct family {
	struct relation *reading;
	size_t count, capacity;
	bool failed; /* out of memory */
	uint8_t *known; /* bitmap by process number */
	uint32_t *added;
	size_t added_count, added_capacity;
};

static void family_done(struct family *family)
{
	free(family->reading);
	free(family->known);
	free(family->added);
}

static bool knows(const struct family *family, uint32_t process)
{
	return process < NUMBERS && family->known[process / 8] >> process % 8 & 1;
}

static void learn(struct family *family, uint32_t process)
{
	if (process < NUMBERS)
		family->known[process / 8] |= 1U << process % 8;
}

/* Makes room for one more element. */
static bool grow(void *array, size_t count, size_t *capacity, size_t size)
{
	void *larger;

	if (count < *capacity)
		return true;
	larger = reallocarray(*(void **)array, *capacity * 2 + 256, size);
	if (!larger)
		return false;
	*(void **)array = larger;
	*capacity = *capacity * 2 + 256;
	return true;
}

static void on_process(const struct iotr_task *task, void *userdata)
{
	struct family *family = userdata;

	if (!grow(&family->reading, family->count, &family->capacity, sizeof(*family->reading)))
		family->failed = true;
	else
		family->reading[family->count++] = (struct relation){ task->head.tgid, task->ppid };
}

static int read_all(struct session_context *context, struct family *family)
{
	int r;

	family->count = 0;
	r = orders_each_process(context->orders, on_process, family);
	return r >= 0 && family->failed ? -ENOMEM : r;
}

/*
 * Adds the processes of the list whose parents are known; repeated, as a parent may follow its children in the
 * list.
 */
static int follow_children(struct session_context *context, unsigned int slot, struct family *family)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < family->count; i++) {
			struct relation *one = &family->reading[i];

			if (knows(family, one->process) || !knows(family, one->parent))
				continue;
			if (!grow(&family->added, family->added_count, &family->added_capacity,
				  sizeof(*family->added)))
				return -ENOMEM;
			family->added[family->added_count++] = one->process;
			learn(family, one->process);
			again = true;
			if (control_page_follow(context->probes, slot, one->process) < 0)
				return -EIO;
		}
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t left = ((const struct relation *)a)->process, right = ((const struct relation *)b)->process;

	return left < right ? -1 : left > right;
}

/*
 * A process that was added after it had ended must not stay in the map: its number may be given to another
 * process.
 */
static void forget_ended(struct session_context *context, unsigned int slot, const struct family *family)
{
	qsort(family->reading, family->count, sizeof(*family->reading), compare);
	for (size_t i = 0; i < family->added_count; i++)
		if (!bsearch(&(struct relation){ family->added[i], 0 }, family->reading, family->count,
			     sizeof(*family->reading), compare))
			control_page_unfollow(context->probes, slot, family->added[i]);
}

int descendants_follow(struct session_context *context, unsigned int slot, const struct iotr_session_spec *spec)
{
	_cleanup_(family_done) struct family family = { .known = calloc(NUMBERS / 8, 1) };
	size_t before;
	int r = 0;

	if (!family.known)
		return -ENOMEM;
	for (size_t i = 0; i < spec->pid_count; i++)
		learn(&family, spec->pids[i]);
	for (int reading = 0; reading < READINGS_MAX; reading++) {
		before = family.added_count;
		r = read_all(context, &family);
		if (r >= 0)
			r = follow_children(context, slot, &family);
		if (r < 0 || family.added_count == before)
			break;
	}
	if (r >= 0)
		forget_ended(context, slot, &family);
	return r;
}
