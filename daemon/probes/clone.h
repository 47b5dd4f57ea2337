/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of a loaded program on other hooks: libbpf loads each program once. Main thread.
 */
#pragma once

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdint.h>

struct probes_runs;

/* What is copied; the instructions belong to the program, which must outlive it. */
struct origin {
	const struct bpf_insn *insns;
	size_t insn_count;
	struct bpf_func_info *infos;
	uint32_t info_count;
	int btf_fd;
};

/* Of a program that is loaded. origin_done() takes one that failed too. */
int origin_init(struct origin *origin, struct bpf_program *program);
void origin_done(struct origin *origin);

/* Loads a copy for the BTF id of a hook, whose `name` is for the log. A descriptor, or -errno. */
int origin_clone(const struct origin *origin, enum bpf_attach_type type, int hook, const char *name);

/* Adds what the program ran: see probes_runs(). Nothing of -1. */
void program_runs(int fd, struct probes_runs *runs);

/* How often the kernel left the program out: see probes_missed(). 0 of -1. */
uint64_t program_missed(int fd);
