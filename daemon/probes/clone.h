/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads copies of a program for other hooks, as libbpf loads each program only once. Main thread.
 */
#pragma once

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdint.h>

struct probes_runs;

/* What a copy is made of. The instructions belong to the program, which must outlive this. */
struct origin {
	const struct bpf_insn *insns;
	size_t insn_count;
	struct bpf_func_info *infos;
	uint32_t info_count;
	int btf_fd;
	/*
	 * BTF id of the kernel's variable that copies get in the place of IOTR_COPY_RCU_DATA; 0: none. origin_clone() clears it if
	 * the kernel refuses it, as one does that has no names for data.
	 */
	int variable;
};

/* Fills in the origin from a loaded program. origin_done() is to be called after a failure too. */
int origin_init(struct origin *origin, struct bpf_program *program);
void origin_done(struct origin *origin);

/*
 * Loads a copy for the hook with that BTF id, whose `name` is for the log: the function of the system call `number`, which the
 * copy has in the place of IOTR_COPY_MARK. Returns a descriptor, or -errno.
 */
int origin_clone(struct origin *origin, enum bpf_attach_type type, int hook, int number, const char *name);

/* Adds the runs of a program, see probes_runs(); nothing if `fd` is -1. */
void program_runs(int fd, struct probes_runs *runs);

/* How often the kernel skipped the program, see probes_missed(); 0 if `fd` is -1. */
uint64_t program_missed(int fd);
