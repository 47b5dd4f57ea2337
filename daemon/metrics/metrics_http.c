// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "log.h"
#include "metrics/metrics_users.h"

#define MEMORY	       16384 /* bytes of a connection; a request that needs more is refused */
#define BACKLOG	       1024  /* the kernel's limit (net.core.somaxconn) is lower on some machines */
#define ACCEPTS_A_TURN 16
#define RUNS_MAX       8
#define TURN_AGAIN     10 /* priority: what clients of the control socket want goes before */

#define PAUSE_USEC   200000	/* when no connection can be had, before it is tried again */
#define FRESH	     16		/* texts made in FRESH_NS; who asks more often gets the last one again */
#define FRESH_NS     1000000000ULL
#define USERS_NS     250000000ULL /* between two looks at whose connections they are, as each goes through all of the machine's */

struct visit {
	int fd; /* the library's; -1: none */
	struct sockaddr_in from;
	uint64_t begun_ns;
	uid_t user; /* METRICS_NOBODY: not known yet */
};

struct metrics_http {
	struct MHD_Daemon *daemon;
	int listener;
	sd_event_source *io, *accepts, *timer;
	metrics_maker make;
	void *userdata;
	struct visit visits[METRICS_CONNECTIONS];
	uint64_t users_ns;
	/* The last text, and how many were made since when. */
	char *text;
	size_t length;
	unsigned int made;
	uint64_t made_ns;
};

/* ---- answers ---- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *text, size_t length)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(length, (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
	/* One that is kept open between two visits would be one that another visitor cannot have. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned status, const char *sentence)
{
	return answer(connection, status, sentence, strlen(sentence));
}

/* The text as it is now, or as it was a moment ago if it was asked for often: to make it takes time from the main loop. */
static bool refresh(struct metrics_http *http)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t length = 0;
	char *text;

	if (now - http->made_ns >= FRESH_NS) {
		http->made_ns = now;
		http->made = 0;
	}
	if (http->text && http->made >= FRESH)
		return true;
	text = http->make(&length, http->userdata);
	if (!text)
		return false;
	free(http->text);
	http->text = text;
	http->length = length;
	http->made++;
	return true;
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *body, size_t *body_size, void **state)
{
	static const int known; /* marks a request whose head was read */
	struct metrics_http *http = userdata;

	(void)version, (void)body;
	if (!*state || *body_size) { /* the head was read, or a part of a body, which nobody wants */
		*state = (void *)&known;
		*body_size = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is answered\n");
	if (strcmp(url, "/metrics") != 0)
		return say(connection, MHD_HTTP_NOT_FOUND, "there is only /metrics\n");
	if (!refresh(http))
		return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
	return answer(connection, MHD_HTTP_OK, http->text, http->length);
}

/* ---- visits ---- */

static struct visit *visit_of(struct metrics_http *http, int fd)
{
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		if (http->visits[i].fd == fd)
			return &http->visits[i];
	return NULL;
}

/* The library tells of the end before it closes the descriptor, whose number is another's from then on. */
static void on_connection(void *userdata, struct MHD_Connection *connection, void **state, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct visit *visit = info ? visit_of(userdata, info->connect_fd) : NULL;

	(void)state;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED && visit)
		visit->fd = -1;
}

static void run(struct metrics_http *http)
{
	MHD_run(http->daemon);
	MHD_run(http->daemon); /* what it has seen ends in one run, and goes in the next */
}

/* The library sees its end, and lets go of it. */
static void cut_off(struct metrics_http *http, struct visit *visit)
{
	int fd = visit->fd;

	shutdown(fd, SHUT_RDWR);
	for (int i = 0; i < RUNS_MAX && visit->fd == fd; i++)
		run(http);
}

static void look_whose(struct metrics_http *http)
{
	struct metrics_peer peers[METRICS_CONNECTIONS];
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now - http->users_ns < USERS_NS)
		return;
	http->users_ns = now;
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		peers[i] = (struct metrics_peer){ http->visits[i].from, METRICS_NOBODY };
	metrics_users_find(peers, METRICS_CONNECTIONS);
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		http->visits[i].user = peers[i].user;
}

static size_t visits_of(const struct metrics_http *http, uid_t user)
{
	size_t count = 0;

	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		count += http->visits[i].fd >= 0 && http->visits[i].user == user;
	return count;
}

/* The oldest of the user who has most: who asks at once is served before he is the oldest. */
static struct visit *to_go(struct metrics_http *http)
{
	struct visit *found = NULL;
	size_t most = 0;

	look_whose(http);
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++) {
		struct visit *visit = &http->visits[i];
		size_t count = visits_of(http, visit->user);

		if (count > most || (count == most && found && visit->begun_ns < found->begun_ns))
			found = visit;
		if (count > most)
			most = count;
	}
	return found;
}

static struct visit *room(struct metrics_http *http)
{
	struct visit *visit = visit_of(http, -1);

	if (visit)
		return visit;
	cut_off(http, to_go(http));
	return visit_of(http, -1);
}

/* ---- the loop ---- */

/* Cuts off those whose time is over, however much they have said. Returns microseconds until the next one's is; UINT64_MAX: none. */
static uint64_t end_late(struct metrics_http *http)
{
	const uint64_t patience = METRICS_VISIT_S * 1000000000ULL;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), wait = UINT64_MAX;

	for (size_t i = 0; i < METRICS_CONNECTIONS; i++) {
		struct visit *visit = &http->visits[i];
		uint64_t age = now - visit->begun_ns;

		if (visit->fd >= 0 && age >= patience)
			cut_off(http, visit);
		else if (visit->fd >= 0 && (patience - age) / 1000 + 1 < wait)
			wait = (patience - age) / 1000 + 1;
	}
	return wait;
}

static void go_on(struct metrics_http *http)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;
	uint64_t wait;

	run(http);
	wait = end_late(http);
	if (MHD_get_timeout(http->daemon, &wait_ms) == MHD_YES && wait_ms * 1000 < wait)
		wait = wait_ms * 1000;
	if (wait == UINT64_MAX) {
		sd_event_source_set_enabled(http->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time_relative(http->timer, wait);
	sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT);
}

/* False: none could be had, of descriptors or memory, and it is tried again later. */
static bool accept_one(struct metrics_http *http, bool *more)
{
	struct sockaddr_in from = { 0 };
	socklen_t size = sizeof(from);
	_cleanup_close_ int fd = accept4(http->listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct visit *visit;
	int number;

	*more = fd >= 0;
	if (fd < 0)
		return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
	visit = room(http);
	if (!visit)
		return false;
	number = take_fd(&fd);
	*visit = (struct visit){ number, from, clock_ns(CLOCK_MONOTONIC), METRICS_NOBODY };
	if (MHD_add_connection(http->daemon, number, (struct sockaddr *)&from, size) != MHD_YES)
		visit->fd = -1; /* the library has closed it */
	return true;
}

static int on_accept(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct metrics_http *http = userdata;
	bool more = true, can = true;

	(void)fd, (void)events;
	for (int i = 0; i < ACCEPTS_A_TURN && more && can; i++)
		can = accept_one(http, &more);
	go_on(http);
	if (!can) {
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
		sd_event_source_set_time_relative(http->timer, PAUSE_USEC);
		sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT);
	}
	return 0;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	go_on(userdata);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct metrics_http *http = userdata;

	(void)source, (void)usec;
	sd_event_source_set_enabled(http->accepts, SD_EVENT_ON);
	go_on(http);
	return 0;
}

static void on_log(void *userdata, const char *format, va_list arguments)
{
	char line[512];

	(void)userdata;
	vsnprintf(line, sizeof(line), format, arguments);
	log_debug("metrics: %.*s", (int)strcspn(line, "\n"), line);
}

/* ---- life ---- */

static int watch(struct metrics_http *http, sd_event *event)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	if (!info)
		return -ENOTSUP;
	r = sd_event_add_io(event, &http->io, info->epoll_fd, EPOLLIN, on_io, http);
	if (r >= 0)
		r = sd_event_add_io(event, &http->accepts, http->listener, EPOLLIN, on_accept, http);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &http->timer, CLOCK_MONOTONIC, 0, 10000, on_timer, http);
	if (r >= 0)
		r = sd_event_source_set_priority(http->io, TURN_AGAIN);
	return r < 0 ? r : sd_event_source_set_priority(http->accepts, TURN_AGAIN);
}

DEFINE_CLEANUP(struct metrics_http *, metrics_http_free);

/* The library has no listener: it would not listen again after all connections that it may have were taken. */
int metrics_http_new(sd_event *event, int socket, metrics_maker make, void *userdata, struct metrics_http **ret)
{
	_cleanup_close_ int fd = socket;
	_cleanup_(metrics_http_freep) struct metrics_http *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return -ENOMEM;
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		http->visits[i].fd = -1;
	http->make = make;
	http->userdata = userdata;
	http->listener = take_fd(&fd);
	if (listen(http->listener, BACKLOG) < 0)
		return -errno;
	http->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request,
					http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
					MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
					MHD_OPTION_CONNECTION_LIMIT, (unsigned)METRICS_CONNECTIONS * 2,
					MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_END);
	if (!http->daemon)
		return -EIO;
	r = watch(http, event);
	if (r < 0)
		return r;
	*ret = TAKE(http);
	return 0;
}

void metrics_http_free(struct metrics_http *http)
{
	if (!http)
		return;
	sd_event_source_disable_unref(http->io);
	sd_event_source_disable_unref(http->accepts);
	sd_event_source_disable_unref(http->timer);
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	closep(&http->listener);
	free(http->text);
	free(http);
}
