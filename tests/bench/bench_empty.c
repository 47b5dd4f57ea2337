// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attaches the empty programs whose names begin with SET, says "ready", and detaches them when standard
 * input ends. A program of perf events is attached to the minor page faults of every CPU. What programs put into a ring
 * of the name "rows" is passed over, so that it does not run full.
 *
 *   bench_empty SET OBJECT
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINKS_MAX = 1024, PASS_OVER_MS = 100 };

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

static struct bpf_object *load(const char *path, const char *set)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (!object)
		die(path);
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, !strncmp(bpf_program__name(program), set, strlen(set)));
	if (bpf_object__load(object) < 0)
		die("the kernel refuses the programs");
	return object;
}

static struct bpf_link *links[LINKS_MAX];
static int count;

static void keep(const struct bpf_program *program, struct bpf_link *link)
{
	if (!link || count == LINKS_MAX)
		die(bpf_program__section_name(program));
	links[count++] = link;
}

static void attach_counted(const struct bpf_program *program)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.sample_period = 1,
	};

	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		int fd = syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0)
			keep(program, bpf_program__attach_perf_event(program, fd));
	}
}

static void attach(const struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		if (!bpf_program__autoload(program))
			continue;
		if (!strcmp(bpf_program__section_name(program), "perf_event"))
			attach_counted(program);
		else
			keep(program, bpf_program__attach(program));
	}
	if (!count) {
		errno = EINVAL;
		die("no such set of programs");
	}
}

/* Positions in a ring, which are on a page each; the consumer's may be written. */
struct positions {
	volatile unsigned long *consumer;
	const volatile unsigned long *producer;
};

static struct positions positions_of(const struct bpf_object *object)
{
	int fd = bpf_object__find_map_fd_by_name(object, "rows");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *consumer, *producer;

	if (fd < 0)
		return (struct positions){ NULL, NULL };
	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	producer = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (consumer == MAP_FAILED || producer == MAP_FAILED)
		die("rows");
	return (struct positions){ consumer, producer };
}

/* Until standard input ends. */
static void stay(struct positions positions)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char rest[256];

	do {
		while (poll(&input, 1, positions.consumer ? PASS_OVER_MS : -1) == 0)
			*positions.consumer = *positions.producer;
	} while (read(STDIN_FILENO, rest, sizeof(rest)) > 0);
}

int main(int argc, char **argv)
{
	struct bpf_object *object;

	if (argc != 3) {
		fputs("usage: bench_empty SET OBJECT\n", stderr);
		return 2;
	}
	libbpf_set_print(print_nothing);
	object = load(argv[2], argv[1]);
	attach(object);
	puts("ready");
	fflush(stdout);
	stay(positions_of(object));
	while (count)
		bpf_link__destroy(links[--count]);
	bpf_object__close(object);
	return 0;
}
