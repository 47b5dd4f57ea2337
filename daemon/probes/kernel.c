// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/kernel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "cleanup.h"
#include "tree.h"

#define EXIT_INSNS                                                                            \
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 }, { .code = BPF_JMP | BPF_EXIT }

static int load(enum bpf_prog_type type, const struct bpf_insn *insns, size_t count,
		const struct bpf_prog_load_opts *options)
{
	int fd = bpf_prog_load(type, "iotr_probe", "GPL", insns, count, options);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Loads a program that calls bpf_probe_read_kernel(stack, 8, 0). */
static int try_read_kernel(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel },
		EXIT_INSNS,
	};

	return load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, sizeof(insns) / sizeof(insns[0]), NULL);
}

/* Whether it loads any program at all, which takes privileges. */
static bool loads_programs(void)
{
	const struct bpf_insn insns[] = { EXIT_INSNS };

	return load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, sizeof(insns) / sizeof(insns[0]), NULL) == 0;
}

static int attach_once(int program)
{
	int link = bpf_raw_tracepoint_open(NULL, program);

	if (link < 0)
		return -errno;
	close(link);
	return 0;
}

/*
 * Attaches a hook to a system call that is rarely made, twice. -EALREADY: it cannot be attached again after
 * it was detached, so hooks would have to stay attached while no session needs them.
 */
static int try_function_hooks(const struct kernel *kernel)
{
	const struct bpf_insn insns[] = { EXIT_INSNS };
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY);
	char name[64];
	int id = kernel_call(kernel, "syncfs", name, sizeof(name)), program, r;

	if (id < 0)
		return id;
	options.attach_btf_id = id;
	program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "iotr_probe", "GPL", insns,
				sizeof(insns) / sizeof(insns[0]), &options);
	if (program < 0)
		return program;
	r = attach_once(program);
	if (r >= 0 && attach_once(program) < 0)
		r = -EALREADY;
	close(program);
	return r;
}

/* A file of the machine, whether it is compressed or not; gzclose() closes it. NULL: there is none. */
static gzFile open_text(const char *path)
{
	_cleanup_close_ int fd = tree_open(path, O_RDONLY);
	gzFile file = fd < 0 ? NULL : gzdopen(fd, "r");

	if (file)
		take_fd(&fd);
	return file;
}

/* Checks the preemption model in use, which debugfs shows in parentheses, or otherwise the kernel's configuration. */
static bool may_preempt(void)
{
	char line[256] = "", path[128];
	gzFile file = open_text("/sys/kernel/debug/sched/preempt");
	struct utsname host;
	bool preempts = false;

	if (file && gzgets(file, line, sizeof(line))) {
		gzclose(file);
		return strstr(line, "(full)") || strstr(line, "(lazy)");
	}
	if (file)
		gzclose(file);
	uname(&host);
	snprintf(path, sizeof(path), "/boot/config-%s", host.release);
	file = open_text("/proc/config.gz") ?: open_text(path);
	while (file && gzgets(file, line, sizeof(line)))
		preempts |= !strcmp(line, "CONFIG_PREEMPT=y\n") || !strcmp(line, "CONFIG_PREEMPT_LAZY=y\n") ||
			    !strcmp(line, "CONFIG_PREEMPT_RT=y\n");
	if (file)
		gzclose(file);
	return preempts;
}

/* Lockdown is the one policy that is known to refuse this to root: it says so in parentheses. */
static const char *refusal_of_reads(int error)
{
	gzFile file = open_text("/sys/kernel/security/lockdown");
	char modes[128] = "";

	if (file) {
		gzgets(file, modes, sizeof(modes));
		gzclose(file);
	}
	if (strstr(modes, "[confidentiality]"))
		return "kernel lockdown (mode 'confidentiality') forbids BPF programs to read kernel memory, which every stream needs; "
		       "boot with lockdown=integrity, or without lockdown";
	return error == -EPERM ? "the kernel forbids BPF programs to read kernel memory, which every stream needs" :
				 "the kernel refuses a program that reads kernel memory, which every stream needs";
}

int kernel_open(struct kernel *kernel)
{
	int r;

	memset(kernel, 0, sizeof(*kernel));
	pthread_mutex_init(&kernel->lock, NULL);
	r = kernel_use(kernel);
	if (r < 0)
		return r;
	r = try_read_kernel();
	kernel->read_kernel = r == 0;
	kernel->refusal = kernel->read_kernel || !loads_programs() ? NULL : refusal_of_reads(r);
	/* Not used where a policy, such as lockdown, forbids the helper, as that would circumvent it. */
	kernel->typed_reads = kernel->read_kernel && kernel_function(kernel, "bpf_rdonly_cast") > 0;
	kernel->preempts = may_preempt();
	return 0;
}

void kernel_find_hooks(struct kernel *kernel, bool known)
{
	int r = kernel->refusal ? -EPERM : kernel->preempts ? -EAGAIN : known ? 0 : try_function_hooks(kernel);

	kernel->function_hooks = r == 0;
	kernel->function_reason = r == 0       ? "fentry and fexit load, and can be attached again" :
				  kernel->refusal ? kernel->refusal :
				  r == -EAGAIN ? "the kernel preempts programs there, and leaves them out meanwhile" :
				  r == -EALREADY ? "a hook that was detached cannot be attached again" :
						   strerror(-r);
}

static void forget(struct kernel *kernel)
{
	btf__free(kernel->btf);
	free(kernel->enums);
	kernel->btf = NULL;
	kernel->enums = NULL;
}

void kernel_done(struct kernel *kernel)
{
	forget(kernel);
}

int kernel_use(struct kernel *kernel)
{
	int r = 0;

	pthread_mutex_lock(&kernel->lock);
	if (!kernel->btf)
		kernel->btf = btf__load_vmlinux_btf();
	if (kernel->btf)
		kernel->users++;
	else
		r = -ENOENT;
	pthread_mutex_unlock(&kernel->lock);
	return r;
}

void kernel_leave(struct kernel *kernel)
{
	pthread_mutex_lock(&kernel->lock);
	if (--kernel->users == 0)
		forget(kernel);
	pthread_mutex_unlock(&kernel->lock);
}

int kernel_function(const struct kernel *kernel, const char *name)
{
	return btf__find_by_name_kind(kernel->btf, name, BTF_KIND_FUNC);
}

int kernel_variable(const struct kernel *kernel, const char *name)
{
	return btf__find_by_name_kind(kernel->btf, name, BTF_KIND_VAR);
}

int kernel_prototype(const struct kernel *kernel, int function)
{
	const struct btf_type *type = function > 0 ? btf__type_by_id(kernel->btf, function) : NULL;

	return type && btf_is_func(type) ? (int)type->type : -ENOENT;
}

int kernel_call(const struct kernel *kernel, const char *call, char *name, size_t size)
{
	int id;

	snprintf(name, size, "__x64_sys_%s", call);
	id = kernel_function(kernel, name);
	if (id > 0)
		return id;
	snprintf(name, size, "__do_sys_%s", call);
	return kernel_function_arity(kernel, name) == 1 ? kernel_function(kernel, name) : -ENOENT;
}

int kernel_tracepoint(const struct kernel *kernel, const char *name)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(kernel->btf, type, BTF_KIND_TYPEDEF);
}

int kernel_tracepoint_arity(const struct kernel *kernel, const char *name)
{
	const struct btf_type *proto;
	int id = kernel_tracepoint(kernel, name);

	if (id < 0)
		return -ENOENT;
	proto = btf__type_by_id(kernel->btf, id);
	proto = btf__type_by_id(kernel->btf, proto->type); /* pointer */
	proto = btf__type_by_id(kernel->btf, proto->type); /* prototype, context argument first */
	return btf_vlen(proto) - 1;
}

int kernel_function_arity(const struct kernel *kernel, const char *name)
{
	int id = kernel_function(kernel, name);

	if (id < 0)
		return -ENOENT;
	return btf_vlen(btf__type_by_id(kernel->btf, btf__type_by_id(kernel->btf, id)->type));
}

/* Most types are no enums, and there are very many of them, so they are looked through once. */
static uint32_t *enums_find(const struct btf *btf)
{
	uint32_t *enums = calloc(btf__type_cnt(btf) + 1, sizeof(*enums));
	size_t count = 0;

	for (unsigned int id = 1; enums && id < btf__type_cnt(btf); id++)
		if (btf_is_enum(btf__type_by_id(btf, id)))
			enums[count++] = id;
	return enums;
}

bool kernel_enumerator(struct kernel *kernel, const char *name, unsigned int *value)
{
	if (!kernel->enums)
		kernel->enums = enums_find(kernel->btf);
	for (const uint32_t *id = kernel->enums; id && *id; id++) {
		const struct btf_type *type = btf__type_by_id(kernel->btf, *id);
		const struct btf_enum *values = btf_enum(type);

		for (unsigned int i = 0; i < btf_vlen(type); i++) {
			if (strcmp(btf__name_by_offset(kernel->btf, values[i].name_off), name))
				continue;
			*value = values[i].val;
			return true;
		}
	}
	return false;
}
