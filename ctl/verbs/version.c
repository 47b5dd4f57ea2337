// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>

#include "cleanup.h"
#include "output/json.h"
#include "request/connection.h"

/* The client's own version is shown even without a daemon: returns NULL then, and prints no error. */
static struct json_object *ask_daemon(const char *socket)
{
	_cleanup_(connection_close) struct connection connection = CONNECTION_NONE;
	_cleanup_json_ struct json_object *reply = NULL;

	if (connection_open(socket, &connection) < 0 ||
	    connection_send(&connection, "org.varlink.service.GetInfo", NULL, false) < 0 ||
	    connection_receive(&connection, &reply) < 0)
		return NULL;
	return json_object_get(member_of(member_of(reply, "parameters"), "version"));
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *daemon = ask_daemon(context->socket);
	_cleanup_json_ struct json_object *document = json_object_new_object();

	(void)parameters, (void)argc, (void)argv;
	json_object_object_add(document, "client", json_object_new_string(IOTRACER_VERSION));
	json_object_object_add(document, "daemon", json_object_get(daemon));
	if (context->json) {
		print_json(document);
		return EXIT_DONE;
	}
	puts("iotracectl " IOTRACER_VERSION);
	if (daemon)
		printf("iotracerd %s\n", json_object_get_string(daemon));
	else
		puts("iotracerd is not reachable");
	return EXIT_DONE;
}

const struct verb verb_version = {
	.name = "version",
	.run = run,
	.group = VERBS_MACHINE,
	.synopsis = "",
	.summary = "show the versions of client and daemon",
};
