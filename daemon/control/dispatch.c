// SPDX-License-Identifier: GPL-2.0-or-later
#include "dispatch.h"

#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "connection.h"
#include "interface.h"
#include "json_memory.h"
#include "log.h"
#include "protocol.h"

static const struct interface *find_interface(const struct interface *const *interfaces, const char *name,
					      size_t length)
{
	for (; *interfaces; interfaces++)
		if (strlen((*interfaces)->name) == length && !memcmp((*interfaces)->name, name, length))
			return *interfaces;
	return NULL;
}

static const struct method *find_method(const struct interface *interface, const char *name)
{
	for (size_t i = 0; i < interface->method_count; i++)
		if (!strcmp(interface->methods[i].name, name))
			return &interface->methods[i];
	return NULL;
}

static void refuse(struct call *call, const char *error, const char *key, const char *value,
		   size_t length)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, key, json_object_new_string_len(value, (int)length));
	call_error(call, error, parameters);
}

static void deny(struct call *call, enum role needed)
{
	log_message(ABOUT(CALL_REFUSED, .user = &call->caller->uid),
		    "uid %u may not call %s, which takes the role %s", call->caller->uid, call->method,
		    role_name(needed));
	call_error(call, IOTR_PERMISSION_DENIED, role_denied(needed));
}

static void run(struct call *call)
{
	const char *name = call->method, *dot = strrchr(name, '.');
	const struct interface *interface;
	const struct method *method;
	int r;

	if (!dot) {
		call_invalid(call, "method", "a method is named INTERFACE.METHOD");
		return;
	}
	interface = find_interface(call->control->interfaces, name, (size_t)(dot - name));
	if (!interface) {
		refuse(call, VARLINK_INTERFACE_NOT_FOUND, "interface", name, (size_t)(dot - name));
		return;
	}
	method = find_method(interface, dot + 1);
	if (!method) {
		refuse(call, VARLINK_METHOD_NOT_FOUND, "method", name, strlen(name));
		return;
	}
	if (connection_role(call->connection) < method->needs) {
		deny(call, method->needs);
		return;
	}
	r = method->handler(call);
	if (r < 0 && !call->done)
		call_failed(call, "%s failed: %s", dot + 1, strerror(-r));
	else if (!call->done && !call->state)
		call_reply(call, NULL);
}

/*
 * Gets an optional member of one type. A flag that is false is the same as an absent one. -EBADMSG: it has
 * another type.
 */
static int get_member(struct json_object *message, const char *name, enum json_type type,
		      struct json_object **ret)
{
	*ret = NULL;
	json_object_object_get_ex(message, name, ret);
	return *ret && !json_object_is_type(*ret, type) ? -EBADMSG : 0;
}

static int get_flag(struct json_object *message, const char *name, bool *ret)
{
	struct json_object *value;
	int r = get_member(message, name, json_type_boolean, &value);

	*ret = json_object_get_boolean(value);
	return r;
}

struct envelope {
	const char *method;
	struct json_object *parameters;
	bool more, oneway, upgrade;
};

/*
 * Fills in the envelope, whose members are borrowed from the message. Returns NULL, or what is wrong with the
 * message.
 */
static const char *open_envelope(struct json_object *message, struct envelope *envelope)
{
	struct json_object *method;

	if (get_member(message, "method", json_type_string, &method) < 0 || !method)
		return "the message names no method";
	envelope->method = json_object_get_string(method);
	if (strlen(envelope->method) != (size_t)json_object_get_string_len(method))
		return "the method's name contains a NUL byte";
	if (get_member(message, "parameters", json_type_object, &envelope->parameters) < 0)
		return "the parameters are not an object";
	if (get_flag(message, "more", &envelope->more) < 0 ||
	    get_flag(message, "oneway", &envelope->oneway) < 0 ||
	    get_flag(message, "upgrade", &envelope->upgrade) < 0)
		return "more, oneway and upgrade must be true or false";
	if (envelope->more && envelope->oneway)
		return "a call cannot be both more and oneway";
	return NULL;
}

int dispatch_message(struct connection *connection, struct control *control, const char *text, size_t length,
		     struct call **ret, const char **why)
{
	_cleanup_json_ struct json_object *message = NULL;
	struct envelope envelope;
	struct call *call;
	int r;

	r = iotr_message_parse(text, length, &message, why);
	if (r < 0)
		return r;
	json_lacks(); /* what was missing before is of another reply */
	*why = open_envelope(message, &envelope);
	if (*why)
		return -EBADMSG;
	*why = "out of memory";
	r = call_new(connection, control, envelope.method, json_object_get(envelope.parameters), &call);
	if (r < 0)
		return r;
	call->more = envelope.more;
	call->oneway = envelope.oneway;
	*ret = call;
	if (envelope.upgrade)
		call_invalid(call, "upgrade", "no method of this daemon upgrades the connection");
	else
		run(call);
	return 0;
}
