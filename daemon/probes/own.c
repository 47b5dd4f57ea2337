// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/own.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "log.h"
#include "probes/probes_private.h"

/* The entry of the process; 0: a free entry, as no process has that PID. NULL: there is none. */
static struct own *own_find(struct probes *probes, uint32_t process)
{
	for (size_t i = 0; i < IOTR_OWN; i++)
		if (probes->own[i].process == process)
			return &probes->own[i];
	return NULL;
}

static uint32_t hint_of(uint32_t process)
{
	return process % IOTR_HINTS;
}

/* Clears the hint of a process that was removed, unless another entry has the same one. */
static void hint_clear(struct probes *probes, uint32_t process)
{
	for (size_t i = 0; i < IOTR_OWN; i++)
		if (probes->own[i].process && hint_of(probes->own[i].process) == hint_of(process))
			return;
	probes->page->own_hints[hint_of(process)] = false;
}

void own_add(struct probes *probes, pid_t process)
{
	struct own *own = process > 0 ? own_find(probes, process) ?: own_find(probes, 0) : NULL;
	uint32_t key = process;
	uint64_t value = 0;

	if (process > 0 && !own)
		log_warning("process %d belongs to iotracer, but the table of its processes is full: sessions record "
			    "what it does", process);
	if (!own || own->count++)
		return;
	own->process = key;
	if (bpf_map_update_elem(probes_map(probes, "own_processes"), &key, &value, BPF_ANY) < 0)
		log_warning("process %d belongs to iotracer, but cannot be left out: sessions record what it does: %s",
			    process, strerror(errno));
	probes->page->own_hints[hint_of(key)] = true;
}

static uint64_t left_out(const struct probes *probes, uint32_t key)
{
	uint64_t value = 0;

	return bpf_map_lookup_elem(probes_map(probes, "own_processes"), &key, &value) < 0 ? 0 : value;
}

void own_remove(struct probes *probes, pid_t process)
{
	struct own *own = process > 0 ? own_find(probes, process) : NULL;
	uint32_t key = process;

	if (!own || --own->count)
		return;
	probes->own_before += left_out(probes, key);
	own->process = 0;
	bpf_map_delete_elem(probes_map(probes, "own_processes"), &key);
	hint_clear(probes, key);
}

void own_count(const struct probes *probes, struct own_counts *ret)
{
	*ret = (struct own_counts){ .operations = probes->own_before };
	for (size_t i = 0; i < IOTR_OWN; i++) {
		if (!probes->own[i].process)
			continue;
		ret->processes++;
		ret->operations += left_out(probes, probes->own[i].process);
	}
}
