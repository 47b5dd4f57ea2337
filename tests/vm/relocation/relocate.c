// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * relocate VMLINUX OBJECT...: relocates BPF objects against another kernel's types, without booting it. Prints each field,
 * type or value that this kernel lacks and that a program would read all the same, and each program that needs more stack than
 * there is; ends with 1 if there are any.
 *
 * libbpf relocates all programs of an object before it loads the first one, and says in its debug output which instruction
 * belongs to which field. The load itself then fails, as the maps are left out: nothing gets into the running kernel.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reachable.h"

#define LINE_LENGTH 1024
#define PARTS_MAX   8192

/* A relocation that found nothing: instruction `at` of a program or subprogram. */
struct failure {
	char function[128];
	char target[256];
	int at;
};

/* A subprogram that was appended to a program. */
struct part {
	char program[128], function[128];
	int count;
};

static struct {
	struct failure failures[PARTS_MAX];
	struct part parts[PARTS_MAX];
	size_t failure_count, part_count;
	char target[256]; /* of the relocation that libbpf looks at */
} seen;

static void read_line(const char *line)
{
	struct failure failure = { 0 };
	struct part part = { 0 };
	char target[256];
	int at;

	if (sscanf(line, "prog '%*[^']': relo #%*d: <%*[^>]> [%*d] %255[^\n]", target) == 1)
		snprintf(seen.target, sizeof(seen.target), "%s", target);
	else if (sscanf(line, "prog '%127[^']': relo #%*d: substituting insn #%d w/ invalid insn", failure.function, &at) == 2 &&
		 seen.failure_count < PARTS_MAX) {
		failure.at = at;
		memcpy(failure.target, seen.target, sizeof(failure.target));
		seen.failures[seen.failure_count++] = failure;
	} else if (sscanf(line, "prog '%127[^']': added %d insns from sub-prog '%127[^']'", part.program, &part.count,
			  part.function) == 3 &&
		   seen.part_count < PARTS_MAX) {
		seen.parts[seen.part_count++] = part;
	}
}

static int take_line(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[LINE_LENGTH];

	(void)level;
	vsnprintf(line, sizeof(line), format, arguments);
	read_line(!strncmp(line, "libbpf: ", 8) ? line + 8 : line);
	return 0;
}

/* What stands at an instruction of a program that has its subprograms appended; NULL: no relocation that failed. */
static const char *failed_target(const char *program, size_t main_count, size_t at)
{
	const char *function = program;
	size_t begin = 0, end = main_count;

	for (size_t i = 0; i < seen.part_count && at >= end; i++) {
		if (strcmp(seen.parts[i].program, program))
			continue;
		begin = end;
		end += (size_t)seen.parts[i].count;
		function = seen.parts[i].function;
	}
	for (size_t i = 0; i < seen.failure_count; i++)
		if (!strcmp(seen.failures[i].function, function) && seen.failures[i].at == (int)(at - begin))
			return seen.failures[i].target;
	return NULL;
}

static size_t appended(const char *program)
{
	size_t count = 0;

	for (size_t i = 0; i < seen.part_count; i++)
		if (!strcmp(seen.parts[i].program, program))
			count += (size_t)seen.parts[i].count;
	return count;
}

/* Number of a tracepoint's arguments on the other kernel; -1: it has no such tracepoint. */
static int tracepoint_arity(const struct btf *kernel, const char *name)
{
	const struct btf_type *type;
	char typedef_name[128];
	int id;

	snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", name);
	id = btf__find_by_name_kind(kernel, typedef_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -1;
	type = btf__type_by_id(kernel, btf__type_by_id(kernel, (__u32)id)->type);
	type = btf__type_by_id(kernel, type->type);
	return (int)btf_vlen(type) - 1;
}

/* The tracepoint that a program is on, and reads arguments of; NULL: it is on something else. */
static const char *tracepoint_of(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return !strncmp(section, "tp_btf/", 7) || !strncmp(section, "raw_tp/", 7) ? section + 7 : NULL;
}

/* As the daemon has it: a program whose name ends in __N is for hooks of N arguments. */
static bool is_for_kernel(const struct btf *kernel, const struct bpf_program *program)
{
	const char *tracepoint = tracepoint_of(program), *suffix = strstr(bpf_program__name(program), "__");
	int arity = tracepoint ? tracepoint_arity(kernel, tracepoint) : 0;

	if (!tracepoint)
		return true;
	return arity >= 0 && (!suffix || arity == atoi(suffix + 2));
}

static bool is_covered(const struct bpf_object *object, const char *tracepoint)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		const char *other = tracepoint_of(program);

		if (other && !strcmp(other, tracepoint) && bpf_program__autoload(program))
			return true;
	}
	return false;
}

/* Variants of a tracepoint that no program is wanted for. */
static bool is_left_out(const char *program, int arity)
{
	/* Completions on 5.10 do not name their request: bpf/layers_uring.bpf.h counts it when it is submitted. */
	return !strncmp(program, "layers_complete", strlen("layers_complete")) && arity == 4;
}

/* A tracepoint that the kernel has, but with other arguments than any of the programs that are written for it. */
static int report_tracepoint(const struct bpf_object *object, const struct bpf_program *program, const struct btf *kernel)
{
	const char *tracepoint = tracepoint_of(program);
	int arity = tracepoint ? tracepoint_arity(kernel, tracepoint) : -1;

	if (arity < 0 || is_covered(object, tracepoint) || is_left_out(bpf_program__name(program), arity))
		return 0;
	printf("%s: tracepoint %s has %d arguments on this kernel, for which there is no program\n",
	       bpf_program__name(program), tracepoint, arity);
	return 1;
}

/* What the stack of each function is rounded up to: 16 since 6.9, which also brought this type of map, and 32 before. */
static size_t stack_rounding(const struct btf *kernel)
{
	for (__u32 id = 1; id < btf__type_cnt(kernel); id++) {
		const struct btf_type *type = btf__type_by_id(kernel, id);
		const struct btf_enum *values = btf_enum(type);

		if (!btf_is_enum(type))
			continue;
		for (int i = 0; i < btf_vlen(type); i++)
			if (!strcmp(btf__name_by_offset(kernel, values[i].name_off), "BPF_MAP_TYPE_ARENA"))
				return 16;
	}
	return 32;
}

static int report_program(const struct bpf_program *program, size_t rounding)
{
	const char *name = bpf_program__name(program);
	const struct bpf_insn *insns = bpf_program__insns(program);
	size_t count = bpf_program__insn_cnt(program);
	bool *reachable = calloc(count + 1, sizeof(*reachable));
	size_t depth;
	int failed = 0;

	if (!reachable || find_reachable(insns, count, reachable) < 0) {
		printf("%s: its instructions cannot be followed\n", name);
		failed = 1;
	}
	for (size_t i = 0; i < count && reachable; i++) {
		const char *target;

		if (!reachable[i] || insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].imm != RELOCATION_FAILED)
			continue;
		target = failed_target(name, count - appended(name), i);
		printf("%s: reads %s, which this kernel does not have\n", name, target ? target : "(unknown)");
		failed = 1;
	}
	depth = failed ? 0 : stack_depth(insns, count, reachable, rounding);
	if (depth > STACK_MAX) {
		printf("%s: needs %zu bytes of stack, of which there are %d\n", name, depth, STACK_MAX);
		failed = 1;
	}
	free(reachable);
	return failed;
}

static int relocate_object(const char *path, const char *vmlinux, const struct btf *kernel)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = vmlinux);
	struct bpf_object *object = bpf_object__open_file(path, &options);
	size_t rounding = stack_rounding(kernel);
	struct bpf_program *program;
	struct bpf_map *map;
	int failed = 0;

	if (!object) {
		printf("%s: cannot be opened\n", path);
		return 1;
	}
	seen.failure_count = seen.part_count = 0;
	bpf_object__for_each_map(map, object)
		bpf_map__set_autocreate(map, false);
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, is_for_kernel(kernel, program));
	bpf_object__load(object);
	bpf_object__for_each_program(program, object)
		failed |= bpf_program__autoload(program) ? report_program(program, rounding) :
							   report_tracepoint(object, program, kernel);
	bpf_object__close(object);
	return failed;
}

int main(int argc, char **argv)
{
	struct btf *kernel;
	int failed = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: relocate VMLINUX OBJECT...\n");
		return 2;
	}
	libbpf_set_print(take_line);
	kernel = btf__parse(argv[1], NULL);
	if (!kernel) {
		fprintf(stderr, "relocate: %s: no types of a kernel in it\n", argv[1]);
		return 2;
	}
	for (int i = 2; i < argc; i++)
		failed |= relocate_object(argv[i], argv[1], kernel);
	btf__free(kernel);
	return failed;
}
