// SPDX-License-Identifier: GPL-2.0-or-later
#include "selftest/run.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "pipeline/router.h"
#include "probes/control_page.h"
#include "selftest/process.h"
#include "selftest/selftest.h"

#define FOLDER	    "self-test" /* below the state folder */
#define START_US    10000000 /* after which a process that systemd has to start is no longer waited for */
#define LATEST_US   (SELFTEST_SECONDS * 1000000ULL + 500000) /* after which it is ended by force */
#define LINGER_US   50000 /* after its process has ended, for operations that end later */
#define NOTES_MAX   1024

struct selftest {
	struct selftest_config config;
	selftest_handler handler;
	void *userdata;
	unsigned int slots[SELFTEST_SLOTS]; /* for what its process does, and for what its user does */
	bool reserved;
	struct selftest_process process;
	bool complete; /* its process has done all that it had to */
	bool refused;  /* or was refused some of it */
	const char *trouble; /* what else kept it from that; NULL: nothing that is known */
	char folder[PATH_MAX];
	sd_event_source *met, *ended, *timer;
	struct router_tally tally;
	struct {
		uint8_t tried, sure;
	} noted[IOTR_STREAM_COUNT][IOTR_OPERATIONS_MAX];
};

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *at)
{
	(void)stat, (void)type, (void)at;
	remove(path);
	return 0;
}

/* Not FTW_MOUNT, which goes by devices: on overlayfs those of a folder and of the files in it differ, and all would stay. */
static void folder_remove(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int folder_create(struct selftest *selftest, struct engine_error *error)
{
	if ((size_t)snprintf(selftest->folder, sizeof(selftest->folder), "%s/" FOLDER, selftest->config.state_dir) >=
	    sizeof(selftest->folder))
		return engine_fail(error, -ENAMETOOLONG, "", "the state folder's path is too long");
	folder_remove(selftest->folder); /* what a daemon that was killed has left */
	if (mkdir(selftest->folder, 0700) == 0)
		return 0;
	snprintf(error->message, sizeof(error->message), "cannot create %.300s: %s", selftest->folder,
		 strerror(errno));
	return engine_fail(error, -errno, "", NULL);
}

/* ---- what the process notes ---- */

static void notes_read(struct selftest *selftest)
{
	struct selftest_note notes[NOTES_MAX];
	ssize_t size = read(selftest->process.notes, notes, sizeof(notes));

	for (ssize_t i = 0; i < size / (ssize_t)sizeof(notes[0]); i++) {
		if (notes[i].stream == SELFTEST_ITSELF) {
			selftest->complete |= notes[i].operation == SELFTEST_ENDED;
			selftest->refused |= notes[i].operation == SELFTEST_REFUSED;
		}
		if (notes[i].stream >= IOTR_STREAM_COUNT || notes[i].operation >= IOTR_OPERATIONS_MAX)
			continue;
		selftest->noted[notes[i].stream][notes[i].operation].tried = true;
		selftest->noted[notes[i].stream][notes[i].operation].sure |= notes[i].sure;
	}
}

/* ---- recording ---- */

static int record(struct selftest *selftest)
{
	uint32_t pid = selftest->process.pid, uid = selftest->process.uid;
	const struct iotr_session_spec wanted[SELFTEST_SLOTS] = {
		{ .streams = (1U << IOTR_STREAM_COUNT) - 1, .pids = &pid, .pid_count = 1 },
		{ .streams = 1U << IOTR_DROP, .uids = &uid, .uid_count = 1 },
	};
	struct filter_error why;
	uint64_t mask = 0;
	int r = 0;

	for (size_t i = 0; i < SELFTEST_SLOTS; i++)
		mask |= 1ULL << selftest->slots[i];
	router_tally_set(consumer_router(selftest->config.consumer), mask, &selftest->tally);
	for (size_t i = 0; i < SELFTEST_SLOTS && r >= 0; i++)
		r = control_page_set(selftest->config.probes, selftest->slots[i], &wanted[i], NULL, &why);
	return r;
}

static void record_end(struct selftest *selftest)
{
	const struct selftest_config *config = &selftest->config;

	if (!selftest->reserved)
		return;
	for (size_t i = 0; i < SELFTEST_SLOTS; i++)
		control_page_clear(config->probes, selftest->slots[i]);
	consumer_drain(config->consumer);
	router_tally_set(consumer_router(config->consumer), 0, NULL);
	selftest->reserved = false;
	config->give_back(config->userdata);
}

/* ---- life ---- */

static void selftest_free(struct selftest *selftest)
{
	sd_event_source_disable_unref(selftest->met);
	sd_event_source_disable_unref(selftest->ended);
	sd_event_source_disable_unref(selftest->timer);
	selftest_process_end(&selftest->process);
	record_end(selftest);
	folder_remove(selftest->folder);
	free(selftest);
}

static void finish(struct selftest *selftest)
{
	selftest_process_stop(&selftest->process);
	record_end(selftest);
	notes_read(selftest);
	selftest->handler(selftest, selftest->userdata);
	selftest_free(selftest);
}

static int on_timer(sd_event_source *source, uint64_t now, void *userdata)
{
	struct selftest *selftest = userdata;

	(void)source, (void)now;
	if (!selftest->process.pid)
		selftest->trouble = "systemd has not started iotracer-self-test@.service within ten seconds";
	finish(selftest);
	return 0;
}

/* The process has ended; operations that it began may take a moment longer. */
static int on_ended(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct selftest *selftest = userdata;

	(void)fd, (void)events;
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	sd_event_source_set_time_relative(selftest->timer, LINGER_US);
	return 0;
}

/* The process is there, and waits. */
static int go(struct selftest *selftest)
{
	int r = record(selftest);

	if (r >= 0)
		r = sd_event_add_io(selftest->config.event, &selftest->ended, selftest->process.pidfd, EPOLLIN, on_ended,
				    selftest);
	if (r >= 0)
		r = sd_event_source_set_time_relative(selftest->timer, LATEST_US);
	if (r >= 0 && write(selftest->process.go, "", 1) != 1)
		r = -errno;
	return r;
}

static int on_met(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct selftest *selftest = userdata;
	int r;

	(void)fd, (void)events;
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	r = selftest_process_meet(&selftest->process);
	if (r < 0)
		selftest->trouble = "iotracer-self-test@.service, which its process is of, has failed";
	else if (go(selftest) < 0)
		selftest->trouble = "its rows cannot be recorded";
	if (selftest->trouble)
		finish(selftest);
	return 0;
}

static int process_start(struct selftest *selftest, struct engine_error *error)
{
	int r = selftest_process_start(&selftest->process, selftest->folder);

	if (r >= 0)
		return 0;
	snprintf(error->message, sizeof(error->message), "cannot start its process: %s", strerror(-r));
	return engine_fail(error, r, "", NULL);
}

static int begin(struct selftest *selftest, struct engine_error *error)
{
	const struct selftest_config *config = &selftest->config;
	int r = config->reserve(selftest->slots, config->userdata);

	if (r < 0)
		return engine_fail(error, r, "", "there is no room for the two sessions that it takes: "
				   "64 is the limit");
	selftest->reserved = true;
	r = folder_create(selftest, error);
	if (r >= 0)
		r = process_start(selftest, error);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(config->event, &selftest->timer, CLOCK_MONOTONIC, START_US, 1000, on_timer, selftest);
	if (r >= 0)
		r = selftest->process.child ? go(selftest) :
					      sd_event_add_io(config->event, &selftest->met, selftest->process.outside, EPOLLIN,
							      on_met, selftest);
	return r < 0 ? engine_fail(error, r, "", strerror(-r)) : 0;
}

int selftest_new(const struct selftest_config *config, selftest_handler handler, void *userdata,
		 struct selftest **ret, struct engine_error *error)
{
	struct selftest *selftest = calloc(1, sizeof(*selftest));
	int r;

	if (!selftest)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	selftest->config = *config;
	selftest->handler = handler;
	selftest->userdata = userdata;
	selftest->process = (struct selftest_process)SELFTEST_PROCESS_NONE;
	r = begin(selftest, error);
	if (r < 0) {
		selftest_free(selftest);
		return r;
	}
	*ret = selftest;
	return 0;
}

void selftest_abort(struct selftest *selftest)
{
	finish(selftest);
}

/* ---- results ---- */

enum selftest_verdict selftest_verdict(const struct selftest *selftest, enum iotr_stream stream,
				       size_t operation, uint32_t *rows)
{
	*rows = selftest->tally.rows[stream][operation];
	if (*rows)
		return SELFTEST_ROWS;
	if (!selftest->noted[stream][operation].tried)
		return SELFTEST_UNTRIED;
	return selftest->noted[stream][operation].sure ? SELFTEST_NONE : SELFTEST_UNSURE;
}

const char *selftest_trouble(const struct selftest *selftest)
{
	if (selftest->trouble)
		return selftest->trouble;
	if (!selftest->complete)
		return "its process did not come to its end";
	return selftest->refused ? "the daemon's confinement refuses some of it, and iotracer-self-test.socket, which has it done "
				   "elsewhere, is not there" : NULL;
}
