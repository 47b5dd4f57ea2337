// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/clone.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "control.h"
#include "log.h"
#include "probes/probes.h"

enum {
	SUBPROGRAMS_MAX = 256, /* as in the kernel */
	VERIFIER_LOG_BYTES = 1 << 20,
};

void origin_done(struct origin *origin)
{
	free(origin->infos);
	closep(&origin->btf_fd);
}

/* Finds where subprograms begin, as instruction indexes in ascending order: 0, then the targets of calls. */
static size_t subprograms_find(const struct origin *origin, uint32_t *starts, size_t max)
{
	size_t count = 1;

	starts[0] = 0;
	for (size_t i = 0; i < origin->insn_count; i++) {
		const struct bpf_insn *insn = &origin->insns[i];
		uint32_t target = i + insn->imm + 1;
		size_t at = 0;

		if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != BPF_PSEUDO_CALL)
			continue;
		while (at < count && starts[at] < target)
			at++;
		if ((at < count && starts[at] == target) || count == max)
			continue;
		memmove(starts + at + 1, starts + at, (count++ - at) * sizeof(*starts));
		starts[at] = target;
	}
	return count;
}

/*
 * The kernel reports the functions of a loaded program, but at the positions after it rewrote the
 * instructions; the original positions are found in the program itself.
 */
int origin_init(struct origin *origin, struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info), starts[SUBPROGRAMS_MAX];

	*origin = (struct origin){ .insns = bpf_program__insns(program),
				   .insn_count = bpf_program__insn_cnt(program),
				   .btf_fd = -1 };
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0)
		return -errno;
	origin->info_count = info.nr_func_info;
	if (subprograms_find(origin, starts, SUBPROGRAMS_MAX) != origin->info_count)
		return -EINVAL;
	origin->infos = calloc(info.nr_func_info, sizeof(*origin->infos));
	if (!origin->infos)
		return -ENOMEM;
	origin->btf_fd = bpf_btf_get_fd_by_id(info.btf_id);
	memset(&info, 0, sizeof(info));
	info.nr_func_info = origin->info_count;
	info.func_info_rec_size = sizeof(*origin->infos);
	info.func_info = (uintptr_t)origin->infos;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0)
		return -errno;
	for (size_t i = 0; i < origin->info_count; i++)
		origin->infos[i].insn_off = starts[i];
	return 0;
}

/* The first of two instructions that load a 64-bit number get a variable of the kernel by its BTF id. */
static void variable_put(struct bpf_insn *insn, int variable)
{
	insn->src_reg = BPF_PSEUDO_BTF_ID;
	insn->imm = variable;
}

/* The instructions of a copy for a system call, to be freed; NULL: no memory. `variable`: see struct origin. */
static struct bpf_insn *insns_for(const struct origin *origin, int number, int variable)
{
	struct bpf_insn *insns = calloc(origin->insn_count, sizeof(*insns));

	if (!insns)
		return NULL;
	memcpy(insns, origin->insns, origin->insn_count * sizeof(*insns));
	for (size_t i = 0; i < origin->insn_count; i++)
		if (insns[i].code == (BPF_ALU64 | BPF_MOV | BPF_K) && insns[i].imm == IOTR_COPY_MARK)
			insns[i].imm = number;
		else if (variable > 0 && insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && insns[i].imm == IOTR_COPY_RCU_DATA)
			variable_put(&insns[i], variable);
	return insns;
}

static int clone_program(const struct origin *origin, const struct bpf_insn *insns, enum bpf_attach_type type, int function,
			 char *log, size_t log_size)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = type,
		    .attach_btf_id = function, .prog_btf_fd = origin->btf_fd,
		    .func_info = origin->infos, .func_info_cnt = origin->info_count,
		    .func_info_rec_size = sizeof(*origin->infos), .log_buf = log,
		    .log_size = log_size, .log_level = log ? 1 : 0);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "iotr_call", "GPL", insns,
			     origin->insn_count, &options);
}

/* Loads a copy; if that fails it is tried again with a verifier log, which is logged at debug level. */
static int clone_tried(const struct origin *origin, enum bpf_attach_type type, int hook, const struct bpf_insn *insns,
		       const char *name)
{
	_cleanup_free_ char *log = NULL;
	int fd = clone_program(origin, insns, type, hook, NULL, 0);

	if (fd >= 0)
		return fd;
	log_message(ABOUT(HOOK_MISSING, .hook = name, .error = errno),
		    "cannot load a BPF program for the function %s: %s", name, strerror(errno));
	log = calloc(1, VERIFIER_LOG_BYTES);
	fd = log ? clone_program(origin, insns, type, hook, log, VERIFIER_LOG_BYTES) : -ENOMEM;
	if (log)
		log_debug("log of the BPF verifier: %s", log);
	return fd;
}

int origin_clone(struct origin *origin, enum bpf_attach_type type, int hook, int number, const char *name)
{
	_cleanup_free_ struct bpf_insn *with = origin->variable > 0 ? insns_for(origin, number, origin->variable) : NULL;
	_cleanup_free_ struct bpf_insn *without = NULL;
	int fd = with ? clone_program(origin, with, type, hook, NULL, 0) : -ENOENT;

	if (fd >= 0)
		return fd;
	origin->variable = 0; /* not tried again for the next copy */
	without = insns_for(origin, number, 0);
	return without ? clone_tried(origin, type, hook, without, name) : -ENOMEM;
}

void program_runs(int fd, struct probes_runs *runs)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return;
	runs->count += info.run_cnt;
	runs->ns += info.run_time_ns;
}

uint64_t program_missed(int fd)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ? 0 : info.recursion_misses;
}
