/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs of loaded objects by their descriptors. libbpf knows those that it loaded itself; those that an earlier daemon
 * loaded it cannot be told, see inherit.h. So nobody but these functions asks it for a program's descriptor, or has it
 * attach one.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>

struct probes;

/* The descriptor, which stays the object's; -1: the program is not loaded. Any thread. */
int program_fd(const struct probes *probes, const struct bpf_program *program);

/* Whether a program is on a tracepoint of a module, which may not be there. */
bool on_module(const struct bpf_program *program);

/*
 * Attaches a program with that descriptor to the hook that its section names. Returns a descriptor whose close detaches it;
 * -EOPNOTSUPP: programs of such a section are attached otherwise. Any thread.
 */
int program_link(const struct bpf_program *program, int fd);
