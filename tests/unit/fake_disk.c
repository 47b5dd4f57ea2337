// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_disk.h"

#include <pthread.h>
#include <stdbool.h>

#include "pipeline/writer/manifest.h"
#include "pipeline/writer/sink.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects `held` */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool held;

static void hold(bool hold)
{
	pthread_mutex_lock(&lock);
	held = hold;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void fake_disk_hold(void)
{
	hold(true);
}

void fake_disk_let_go(void)
{
	hold(false);
}

void fake_disk_await(void)
{
	pthread_mutex_lock(&lock);
	while (held)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* ---- the linker has calls of the two functions of the writer come here (--wrap) ---- */

int __real_sink_flush(struct sink *sink);
int __wrap_sink_flush(struct sink *sink);
int __real_manifest_write(struct manifest *manifest, const struct manifest_state *state);
int __wrap_manifest_write(struct manifest *manifest, const struct manifest_state *state);

int __wrap_sink_flush(struct sink *sink)
{
	fake_disk_await();
	return __real_sink_flush(sink);
}

int __wrap_manifest_write(struct manifest *manifest, const struct manifest_state *state)
{
	fake_disk_await();
	return __real_manifest_write(manifest, state);
}
