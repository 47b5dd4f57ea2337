// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attaches a pair of empty programs, says "ready", and detaches them when standard input ends.
 *
 *   bench_empty tracepoint|function OBJECT
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAIR = 2 };

static void die(const char *what)
{
	fprintf(stderr, "bench_empty: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int print_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

static struct bpf_object *load(const char *path, const char *level)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (!object)
		die(path);
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, !strncmp(bpf_program__name(program), level,
							    strlen(level)));
	if (bpf_object__load(object) < 0)
		die("the kernel refuses the programs");
	return object;
}

static void attach(struct bpf_object *object, struct bpf_link *links[PAIR])
{
	struct bpf_program *program;
	int count = 0;

	bpf_object__for_each_program(program, object) {
		if (!bpf_program__autoload(program) || count == PAIR)
			continue;
		links[count] = bpf_program__attach(program);
		if (!links[count++])
			die(bpf_program__section_name(program));
	}
	if (count != PAIR) {
		errno = EINVAL;
		die("no such pair of programs");
	}
}

int main(int argc, char **argv)
{
	struct bpf_link *links[PAIR] = { 0 };
	struct bpf_object *object;
	char rest[256];

	if (argc != 3) {
		fputs("usage: bench_empty tracepoint|function OBJECT\n", stderr);
		return 2;
	}
	libbpf_set_print(print_nothing);
	object = load(argv[2], argv[1]);
	attach(object, links);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, rest, sizeof(rest)) > 0)
		;
	for (int i = 0; i < PAIR; i++)
		bpf_link__destroy(links[i]);
	bpf_object__close(object);
	return 0;
}
