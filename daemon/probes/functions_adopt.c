// SPDX-License-Identifier: GPL-2.0-or-later
/* Hooks that an earlier daemon has attached: each is known by the number that the kernel has for its program. */
#include "probes/functions_private.h"

#include <bpf/bpf.h>
#include <stdlib.h>

#include "cleanup.h"
#include "probes/calls.h"

/* The number by which the kernel knows a program; 0: it does not say. */
static uint32_t program_number(int program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	return program < 0 || bpf_obj_get_info_by_fd(program, &info, &size) < 0 ? 0 : info.id;
}

/* The same of the program that a hook is of. */
static uint32_t hook_number(int hook)
{
	struct bpf_link_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(hook, &info, &size) < 0 ? 0 : info.prog_id;
}

static bool adopt(int *link, int program, int *hooks, const uint32_t *numbers, size_t count)
{
	uint32_t number = program_number(program);

	for (size_t i = 0; i < count && number; i++)
		if (hooks[i] >= 0 && numbers[i] == number) {
			*link = take_fd(&hooks[i]);
			return true;
		}
	return false;
}

void functions_adopt(struct functions *functions, int *hooks, size_t *count)
{
	size_t first = functions->copies ? functions->inner : 0, left = 0;
	size_t end = functions->inner + (functions->copies ? call_count : 0);
	_cleanup_free_ uint32_t *numbers = calloc(*count + 1, sizeof(*numbers));

	if (!numbers)
		return;
	for (size_t i = 0; i < *count; i++)
		numbers[i] = hook_number(hooks[i]);
	for (size_t i = first; i < end && *count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			functions->adopted |= adopt(&functions->all[i].links[side], functions->all[i].programs[side],
						    hooks, numbers, *count);
	for (size_t i = 0; i < *count; i++)
		if (hooks[i] >= 0)
			hooks[left++] = hooks[i];
	*count = left;
}
