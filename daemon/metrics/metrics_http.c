// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "cleanup.h"
#include "log.h"

#define MEMORY		 16384 /* bytes of a connection; a request that needs more is refused */
#define RUNS_MAX	 16
#define FULL_USEC	 500000

struct metrics_http {
	struct MHD_Daemon *daemon;
	sd_event_source *io, *timer;
	metrics_maker make;
	void *userdata;
};

/* ---- answers ---- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, char *text, size_t length)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
	/* One that is kept open between two visits would be one that another visitor cannot have. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned status, const char *sentence)
{
	char *text = strdup(sentence);

	return text ? answer(connection, status, text, strlen(text)) : MHD_NO;
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *body, size_t *body_size, void **state)
{
	static const int known; /* marks a request whose head was read */
	struct metrics_http *http = userdata;
	size_t length = 0;
	char *text;

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
	text = http->make(&length, http->userdata);
	if (!text)
		return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
	return answer(connection, MHD_HTTP_OK, text, length);
}

/* ---- the loop ---- */

static unsigned connections(const struct metrics_http *http)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	return info ? info->num_connections : 0;
}

/*
 * What the library has seen ends in one run, and only the next listens again where all connections had been taken: so it
 * runs until nothing changes. With the last of them no event may come any more, hence the timer while all are taken.
 */
static void run(struct metrics_http *http)
{
	unsigned before, now = connections(http);
	MHD_UNSIGNED_LONG_LONG wait_ms;
	uint64_t wait_usec = UINT64_MAX;

	for (int runs = 0; runs < RUNS_MAX; runs++) {
		before = now;
		MHD_run(http->daemon);
		now = connections(http);
		if (runs && now == before)
			break;
	}
	if (MHD_get_timeout(http->daemon, &wait_ms) == MHD_YES)
		wait_usec = wait_ms * 1000;
	if (now >= METRICS_CONNECTIONS && wait_usec > FULL_USEC)
		wait_usec = FULL_USEC;
	if (wait_usec == UINT64_MAX) {
		sd_event_source_set_enabled(http->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time_relative(http->timer, wait_usec);
	sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	run(userdata);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source, (void)usec;
	run(userdata);
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
		r = sd_event_add_time_relative(event, &http->timer, CLOCK_MONOTONIC, 0, 10000, on_timer, http);
	return r;
}

DEFINE_CLEANUP(struct metrics_http *, metrics_http_free);

int metrics_http_new(sd_event *event, int socket, metrics_maker make, void *userdata, struct metrics_http **ret)
{
	_cleanup_(metrics_http_freep) struct metrics_http *http = calloc(1, sizeof(*http));
	_cleanup_close_ int fd = socket;
	int r;

	if (!http)
		return -ENOMEM;
	http->make = make;
	http->userdata = userdata;
	http->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, http,
					MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
					MHD_OPTION_LISTEN_SOCKET, fd,
					MHD_OPTION_CONNECTION_LIMIT, (unsigned)METRICS_CONNECTIONS,
					MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)METRICS_IDLE_S,
					MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_END);
	if (!http->daemon)
		return -EIO;
	take_fd(&fd); /* the library closes it */
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
	sd_event_source_disable_unref(http->timer);
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	free(http);
}
