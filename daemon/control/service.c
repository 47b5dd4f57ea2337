// SPDX-License-Identifier: GPL-2.0-or-later
#include "service.h"

#include <string.h>

#include "call.h"
#include "context.h"
#include "protocol.h"
#include "spec/arguments.h"

static const char description[] =
	"# The interface that every Varlink service has\n"
	"interface org.varlink.service\n"
	"\n"
	"# Returns what the service is, and its interfaces\n"
	"method GetInfo() -> (\n"
	"  vendor: string,\n"
	"  product: string,\n"
	"  version: string,\n"
	"  url: string,\n"
	"  interfaces: []string\n"
	")\n"
	"\n"
	"# Returns the definition of an interface\n"
	"method GetInterfaceDescription(interface: string) -> (description: string)\n"
	"\n"
	"error InterfaceNotFound (interface: string)\n"
	"error MethodNotFound (method: string)\n"
	"error MethodNotImplemented (method: string)\n"
	"error InvalidParameter (parameter: string)\n"
	"error PermissionDenied ()\n"
	"error ExpectedMore ()\n";

static const struct argument no_arguments[] = { { .name = NULL } };

static int get_info(struct call *call)
{
	const struct interface *const *each = call->control->interfaces;
	struct json_object *info, *names;

	if (call_arguments(call, no_arguments, NULL) < 0)
		return 0;
	info = json_object_new_object();
	names = json_object_new_array();
	for (; *each; each++)
		json_object_array_add(names, json_object_new_string((*each)->name));
	json_object_object_add(info, "vendor", json_object_new_string("iotracer"));
	json_object_object_add(info, "product", json_object_new_string("iotracerd"));
	json_object_object_add(info, "version", json_object_new_string(IOTRACER_VERSION));
	json_object_object_add(info, "url", json_object_new_string(""));
	json_object_object_add(info, "interfaces", names);
	call_reply(call, info);
	return 0;
}

static const struct argument interface_argument[] = {
	{ .name = "interface", .parse = argument_string, .required = true },
	{ .name = NULL },
};

static int get_interface_description(struct call *call)
{
	const struct interface *const *each = call->control->interfaces;
	struct json_object *parameters;
	const char *name = NULL;

	if (call_arguments(call, interface_argument, &name) < 0)
		return 0;
	parameters = json_object_new_object();
	for (; *each; each++) {
		if (strcmp((*each)->name, name))
			continue;
		json_object_object_add(parameters, "description", json_object_new_string((*each)->description));
		call_reply(call, parameters);
		return 0;
	}
	json_object_object_add(parameters, "interface", json_object_new_string(name));
	call_error(call, VARLINK_INTERFACE_NOT_FOUND, parameters);
	return 0;
}

static const struct method methods[] = {
	{ "GetInfo", ROLE_READ, get_info },
	{ "GetInterfaceDescription", ROLE_READ, get_interface_description },
};

const struct interface service_interface = {
	"org.varlink.service",
	description,
	methods,
	sizeof(methods) / sizeof(methods[0]),
};
