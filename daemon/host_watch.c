// SPDX-License-Identifier: GPL-2.0-or-later
#include "host_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"
#include "host_name.h"
#include "log.h"
#include "tree.h"

#define NAME	   "/proc/sys/kernel/hostname" /* polled, it tells of changes in any namespace */
#define HOSTNAMED  "org.freedesktop.hostname1"

struct host_watch {
	sd_event *event;
	sd_event_source *changes;
	sd_bus *bus; /* while it is asked; NULL: it is not */
	sd_bus_slot *answer;
};

static void disconnect(struct host_watch *watch)
{
	watch->answer = sd_bus_slot_unref(watch->answer);
	sd_bus_close_unref(TAKE(watch->bus));
}

static void complain(const char *why)
{
	char name[HOST_NAME_SIZE];

	host_name(name);
	log_warning("the system bus does not tell what this machine is called, so traces go on to say '%s': %s", name, why);
}

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	const sd_bus_error *refused = sd_bus_message_get_error(message);
	const char *name;

	(void)error;
	if (refused)
		complain(refused->message ?: refused->name);
	else if (sd_bus_message_read(message, "v", "s", &name) >= 0)
		host_name_set(name);
	disconnect(userdata);
	return 0;
}

/* An answer that is still waited for may be of the name before. */
static void ask(struct host_watch *watch)
{
	int r;

	disconnect(watch);
	r = sd_bus_open_system(&watch->bus);
	if (r >= 0)
		r = sd_bus_attach_event(watch->bus, watch->event, 0);
	if (r >= 0)
		r = sd_bus_call_method_async(watch->bus, &watch->answer, HOSTNAMED, "/org/freedesktop/hostname1",
					     "org.freedesktop.DBus.Properties", "Get", on_answer, watch, "ss", HOSTNAMED,
					     "Hostname");
	if (r >= 0)
		return;
	complain(strerror(-r));
	disconnect(watch);
}

static int on_change(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	ask(userdata);
	return 0;
}

void host_watch_new(sd_event *event, struct host_watch **ret)
{
	_cleanup_close_ int fd = -1;
	struct host_watch *watch;

	*ret = NULL;
	if (!tree_is_anothers())
		return;
	watch = calloc(1, sizeof(*watch));
	fd = tree_open(NAME, O_RDONLY);
	if (!watch || fd < 0 || sd_event_add_io(event, &watch->changes, fd, EPOLLPRI, on_change, watch) < 0) {
		log_warning("changes of the machine's name are not seen: %s", strerror(errno));
		free(watch);
		return;
	}
	sd_event_source_set_io_fd_own(watch->changes, true);
	take_fd(&fd);
	watch->event = sd_event_ref(event);
	ask(watch); /* it may have changed since this process was started */
	*ret = watch;
}

void host_watch_free(struct host_watch *watch)
{
	if (!watch)
		return;
	disconnect(watch);
	sd_event_source_disable_unref(watch->changes);
	sd_event_unref(watch->event);
	free(watch);
}
