// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * process/process_snap_NNNNNN.csv: a row for each process. All but command lines and the names of
 * cgroups comes from one reading of the kernel's tasks, and is of one moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "kinds.h"
#include "sampler.h"
#include "schema.h"
#include "tree.h"

#define HEADER		 IOTR_HEADER(IOTR_PROCESSES_COLUMNS)
#define COMMAND_LINE_MAX 32768
#define CGROUP_MAX	 4096
#define FIXED_MAX	 600

_Static_assert(CGROUP_MAX / 2 * (IOTR_ANONYMIZED_NAME + 1) < TEXT_CELL_MAX(COMMAND_LINE_MAX),
	       "of hashes the command line leaves room to the cgroup");

struct cgroup {
	uint64_t id;
	char *path;
};

struct process {
	struct store *store;
	int proc_fd;
	struct sampled_task *tasks;
	size_t count, at;
	bool hung; /* reading the process at `at` hung */
	int64_t realtime_offset; /* of CLOCK_BOOTTIME */
	uint64_t page_kb;
	struct text_clock creation;
	char timestamp[TEXT_TIME_SIZE + DIGITS_SLACK];
	void *cgroups; /* tree of struct cgroup, by id */
};

/* The status by the bits of the kernel's task state, of which the lowest that is set counts; as ps(1) shows it. */
static const char *status_of(uint32_t state)
{
	static const char *const names[] = { "sleeping",     "disk-sleep", "stopped",
					     "tracing-stop", "dead",	   "zombie", "parked" };
	const uint32_t idle = 0x402;

	if ((state & idle) == idle)
		return "idle";
	for (size_t i = sizeof(names) / sizeof(names[0]); i--;)
		if (state & 1U << i)
			return names[i];
	return "running";
}

static int read_tasks(struct process *of, int fd)
{
	struct stat stat;
	size_t size, done = 0;

	if (fstat(fd, &stat) < 0)
		return -errno;
	size = (size_t)stat.st_size;
	of->tasks = malloc(size ?: 1);
	if (!of->tasks)
		return -ENOMEM;
	while (done < size) {
		ssize_t n = pread(fd, (char *)of->tasks + done, size - done, (off_t)done);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	of->count = size / sizeof(*of->tasks);
	return 0;
}

/* Reads up to `size` bytes of a process's file in /proc by one call; none when the process has ended. */
static size_t read_file(struct job *job, uint32_t pid, const char *name, char *text, size_t size)
{
	const struct process *of = job->state;
	_cleanup_close_ int fd = -1;
	char path[32];
	ssize_t n = 0;

	snprintf(path, sizeof(path), "%u/%s", pid, name);
	fd = openat(of->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = GUARDED(&job->guard, read(fd, text, size));
	return n > 0 ? (size_t)n : 0;
}

static size_t read_command_line(struct job *job, const struct iotr_task *task, char *text)
{
	size_t length;

	if (task->flags & IOTR_TASK_KERNEL || !task->vm_pages)
		return 0;
	length = read_file(job, task->head.tgid, "cmdline", text, COMMAND_LINE_MAX);
	while (length && !text[length - 1])
		length--;
	for (size_t i = 0; i < length; i++)
		if (!text[i])
			text[i] = ' ';
	return length;
}

/* ---- cgroups ---- */

static int compare_cgroups(const void *left, const void *right)
{
	const struct cgroup *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static void cgroup_free(void *pointer)
{
	struct cgroup *cgroup = pointer;

	free(cgroup->path);
	free(cgroup);
}

/* The line "0::/path", copied; NULL when there is none. */
static char *read_cgroup(struct job *job, uint32_t pid)
{
	char text[CGROUP_MAX + 1], *line;

	text[read_file(job, pid, "cgroup", text, CGROUP_MAX)] = '\0';
	for (line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (!strncmp(line, "0::", 3))
			return strndup(line + 3, strcspn(line + 3, "\n"));
	return NULL;
}

/* The path of the task's cgroup, which is read once for all processes of a cgroup. */
static const char *cgroup_of(struct job *job, const struct iotr_task *task)
{
	struct process *of = job->state;
	struct cgroup key = { .id = task->cgroup_id }, *cgroup, **found;
	char *path;

	found = tfind(&key, &of->cgroups, compare_cgroups);
	if (found)
		return (*found)->path;
	path = read_cgroup(job, task->head.tgid);
	cgroup = path ? malloc(sizeof(*cgroup)) : NULL;
	if (!cgroup) {
		free(path);
		return "";
	}
	*cgroup = (struct cgroup){ task->cgroup_id, path };
	if (!tsearch(cgroup, &of->cgroups, compare_cgroups)) {
		cgroup_free(cgroup);
		return "";
	}
	return path;
}

/* ---- rows ---- */

static char *write_name(struct job *job, enum job_name kind, char *out, const char *text, size_t length)
{
	const char *name = job_name(job, kind, text, &length);

	out = kind == JOB_NAME_COMMAND_LINE ? text_words(out, name, length) : text_cell(out, name, length);
	*out++ = ',';
	return out;
}

static char *write_number(char *out, uint64_t number)
{
	out = digits_u64(out, number);
	*out++ = ',';
	return out;
}

static char *write_share(char *out, int64_t share)
{
	if (share >= 0) {
		out = digits_u64(out, (uint64_t)share / 100);
		*out++ = '.';
		out = digits_padded(out, (uint32_t)(share % 100), 2);
	}
	*out++ = ',';
	return out;
}

static char *write_row(struct job *job, char *out, const struct sampled_task *sampled,
		       const char *command_line, size_t length)
{
	struct process *of = job->state;
	const struct iotr_task *task = &sampled->task;
	uint64_t creation = task->start_ns + (uint64_t)of->realtime_offset;
	const char *cgroup = cgroup_of(job, task);

	out = mempcpy(out, of->timestamp, TEXT_TIME_SIZE);
	*out++ = ',';
	out = write_number(out, task->head.tgid);
	out = write_number(out, task->ppid);
	out = write_name(job, JOB_NAME_COMMAND, out, task->command,
			 strnlen(task->command, sizeof(task->command)));
	out = write_name(job, JOB_NAME_COMMAND_LINE, out, command_line, length);
	out = write_number(out, task->vm_pages * of->page_kb);
	out = write_number(out, task->rss_pages > 0 ? (uint64_t)task->rss_pages * of->page_kb : 0);
	out = text_time(&of->creation, out, (int64_t)(creation / 1000000000),
			(uint32_t)(creation % 1000000000));
	*out++ = ',';
	for (size_t i = 0; i < SAMPLER_WINDOWS; i++)
		out = write_share(out, sampled->share[i]);
	out = stpcpy(out, status_of(task->state));
	*out++ = ',';
	out = write_number(out, task->uid);
	out = write_name(job, JOB_NAME_CGROUP, out, cgroup, strlen(cgroup));
	out = write_number(out, task->cgroup_id);
	if (task->namespace_pid)
		out = digits_u64(out, task->namespace_pid);
	*out++ = '\n';
	return out;
}

/* Writes the row of a process, without its command line where reading that hung before. */
static void add_row(struct job *job)
{
	struct process *of = job->state;
	const struct sampled_task *sampled = &of->tasks[of->at];
	char command_line[COMMAND_LINE_MAX];
	size_t length = of->hung ? 0 : read_command_line(job, &sampled->task, command_line);
	char *out = store_reserve(of->store, TEXT_CELL_MAX(COMMAND_LINE_MAX) +
						     TEXT_CELL_MAX(CGROUP_MAX) + FIXED_MAX);

	store_commit(of->store,
		     (size_t)(write_row(job, out, sampled, command_line, length) - out));
	of->at++;
	of->hung = false;
	of->store->rows++;
	atomic_store(&job->rows, of->store->rows);
}

/* ---- the kind ---- */

static int begin(struct job *job)
{
	struct process *of = calloc(1, sizeof(*of));
	int r;

	job->state = of;
	if (!of)
		return -ENOMEM;
	of->realtime_offset = (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME));
	of->page_kb = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	job_timestamp(job, of->timestamp);
	/* Whose rights are used here sees what he would see without the daemon. */
	of->proc_fd = tree_open("/proc", O_RDONLY | O_DIRECTORY);
	if (of->proc_fd < 0)
		return -errno;
	r = read_tasks(of, job->tasks_fd);
	if (r < 0)
		return r;
	r = job_create(job, 0, &of->store);
	if (r < 0)
		return r;
	store_text(of->store, HEADER, strlen(HEADER));
	return 0;
}

static int run(struct job *job)
{
	struct process *of = job->state;

	while (of->at < of->count && !of->store->error)
		add_row(job);
	return job_finish(job, of->store);
}

static const char *pass(struct job *job)
{
	static char text[64];
	struct process *of = job->state;

	of->hung = true;
	snprintf(text, sizeof(text), "the command line of process %u",
		 of->tasks[of->at].task.head.tgid);
	atomic_fetch_add(&job->skipped, 1);
	return text;
}

static void done(struct job *job)
{
	struct process *of = job->state;

	if (!of)
		return;
	tdestroy(of->cgroups, cgroup_free);
	store_free(of->store);
	close(of->proc_fd);
	free(of->tasks);
	free(of);
}

const struct job_kind job_process = { begin, run, pass, done };
