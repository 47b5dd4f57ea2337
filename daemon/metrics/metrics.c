// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "log.h"
#include "metrics/metrics_file.h"
#include "metrics/metrics_http.h"
#include "metrics/metrics_listen.h"
#include "metrics/metrics_text.h"

struct metrics {
	struct engine *engine;
	sd_event *event;
	struct config_metrics config;
	struct metrics_http *http;
	struct metrics_file *file; /* being written */
	sd_event_source *timer;	   /* of the file */
	int told;		   /* an errno: why the file was not written, which the log knows; 0: it was */
};

static char *make(size_t *length, void *userdata)
{
	const struct metrics *metrics = userdata;

	return metrics_text(metrics->engine, length);
}

int metrics_new(struct engine *engine, sd_event *event, struct metrics **ret)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (!metrics)
		return -ENOMEM;
	metrics->engine = engine;
	metrics->event = sd_event_ref(event);
	*ret = metrics;
	return 0;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	metrics_http_free(metrics->http);
	metrics_file_free(metrics->file);
	sd_event_source_disable_unref(metrics->timer);
	sd_event_unref(metrics->event);
	free(metrics);
}

/* ---- the listener ---- */

static const char *listen_reason(int error)
{
	return error == EAFNOSUPPORT ? "the service may not by itself, and iotracer-listen.socket, which has it done, is not there" :
	       error == ECONNRESET   ? "iotracer-listen@.service, which has to do it, has failed" :
				       strerror(error);
}

static void set_listener(struct metrics *metrics)
{
	const struct sockaddr_in *address = &metrics->config.listen;
	int r;

	metrics_http_free(TAKE(metrics->http));
	if (!address->sin_port)
		return;
	r = metrics_listen(address);
	if (r >= 0)
		r = metrics_http_new(metrics->event, r, make, metrics, &metrics->http);
	if (r < 0)
		log_message(ABOUT(METRICS_FAILED, .error = -r),
			    "metrics: cannot listen on %s:%u: %s", inet_ntoa(address->sin_addr), ntohs(address->sin_port),
			    listen_reason(-r));
	else
		log_info("metrics: listening on http://%s:%u/metrics", inet_ntoa(address->sin_addr),
			 ntohs(address->sin_port));
}

/* ---- the file ---- */

/* What became of the last one, 0: it was written; each reason is told once. */
static void tell_file(struct metrics *metrics, int error)
{
	if (error && error != metrics->told)
		log_message(ABOUT(METRICS_FAILED, .error = error), "metrics: %s is not written: %s",
			    metrics->config.text_file, error == ETIMEDOUT ? "its disk does not answer" : strerror(error));
	metrics->told = error;
}

static void see_to_file(struct metrics *metrics)
{
	int error = ETIMEDOUT;

	if (!metrics->file)
		return;
	if (metrics_file_done(metrics->file, &error))
		metrics_file_free(TAKE(metrics->file));
	tell_file(metrics, error);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct metrics *metrics = userdata;
	size_t length = 0;
	char *text;

	(void)usec;
	see_to_file(metrics);
	if (!metrics->file) {
		text = make(&length, metrics);
		if (text)
			metrics->file = metrics_file_write(metrics->config.text_file, text, length);
		if (!metrics->file)
			tell_file(metrics, ENOMEM);
	}
	sd_event_source_set_time_relative(source, metrics->config.interval_ns / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* `moved`: it is another file; otherwise what writes it is waited for, as two would share a temporary file. */
static void set_file(struct metrics *metrics, bool moved)
{
	int r;

	if (moved)
		metrics_file_free(TAKE(metrics->file));
	metrics->timer = sd_event_source_disable_unref(metrics->timer);
	metrics->told = 0;
	if (!metrics->config.text_file[0])
		return;
	r = sd_event_add_time_relative(metrics->event, &metrics->timer, CLOCK_MONOTONIC, 0, 100000, on_timer, metrics);
	if (r < 0)
		log_message(ABOUT(METRICS_FAILED, .error = -r), "metrics: %s is not written: %s", metrics->config.text_file,
			    strerror(-r));
}

void metrics_set(struct metrics *metrics, const struct config_metrics *config)
{
	const struct config_metrics before = metrics->config;
	bool moved = strcmp(before.text_file, config->text_file) != 0;

	metrics->config = *config;
	if (memcmp(&before.listen, &config->listen, sizeof(before.listen)) != 0)
		set_listener(metrics);
	if (moved || before.interval_ns != config->interval_ns)
		set_file(metrics, moved);
}
