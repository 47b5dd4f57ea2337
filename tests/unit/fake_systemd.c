// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * As much of a system bus, and of systemd on it, as one client needs that asks for units: it knows
 * those whose names begin with "known". Usage: fake_systemd SOCKET; it ends with its client.
 */
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "fake_listener.h"

static int hello(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	(void)userdata, (void)error;
	return sd_bus_reply_method_return(call, "s", ":1.1");
}

static int list_units(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	sd_bus_message *reply = NULL;
	const char *name;
	int r = sd_bus_message_new_method_return(call, &reply);

	(void)userdata, (void)error;
	sd_bus_message_open_container(reply, 'a', "(ssssssouso)");
	sd_bus_message_enter_container(call, 'a', "s");
	while (sd_bus_message_read(call, "s", &name) > 0)
		sd_bus_message_append(reply, "(ssssssouso)", name, "",
				      strncmp(name, "known", 5) ? "not-found" : "loaded", "inactive", "dead",
				      "", "/", 0, "", "/");
	sd_bus_message_close_container(reply);
	if (r >= 0)
		r = sd_bus_send(NULL, reply, NULL);
	sd_bus_message_unref(reply);
	return r < 0 ? r : 1;
}

static const sd_bus_vtable bus_methods[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("Hello", "", "s", hello, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable systemd_methods[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("ListUnitsByNames", "as", "a(ssssssouso)", list_units, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static int serve(int fd)
{
	sd_id128_t id = { .bytes = { 1 } };
	sd_bus *bus = NULL;
	int r = sd_bus_new(&bus);

	if (r < 0 || sd_bus_set_fd(bus, fd, fd) < 0 || sd_bus_set_server(bus, 1, id) < 0 ||
	    sd_bus_set_anonymous(bus, 1) < 0 || sd_bus_start(bus) < 0 ||
	    sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/DBus", "org.freedesktop.DBus", bus_methods,
				     NULL) < 0 ||
	    sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
				     systemd_methods, NULL) < 0)
		return 1;
	while ((r = sd_bus_process(bus, NULL)) >= 0)
		if (!r)
			sd_bus_wait(bus, UINT64_MAX);
	sd_bus_unref(bus);
	return 0;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 2)
		return 2;
	fd = accept(listen_at(argv[1]), NULL, NULL);
	return fd < 0 ? 1 : serve(fd);
}
