// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/dispatch.h"

#include <ctype.h>
#include <string.h>

#include "cleanup.h"
#include "control/interfaces.h"
#include "protocol.h"
#include "rig.h"
#include "session_spec.h"
#include "suite.h"

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

static const struct rig_case calls[] = {
	{ "{\"method\":\"org.varlink.service.GetInfo\"}", "", "version", IOTRACER_VERSION },
	{ "{\"method\":\"org.varlink.service.GetInfo\",\"parameters\":null}", "", "product",
	  "iotracerd" },
	{ "{\"method\":\"org.varlink.service.GetInfo\",\"more\":true}", "", "product",
	  "iotracerd" },
	{ "{\"method\":\"org.varlink.service.GetInfo\",\"parameters\":{\"x\":1}}",
	  VARLINK_INVALID_PARAMETER, "parameter", "x" },
	{ "{\"method\":\"org.varlink.service.Nothing\"}", VARLINK_METHOD_NOT_FOUND, "method",
	  "org.varlink.service.Nothing" },
	{ "{\"method\":\"io.iotracer.start\"}", VARLINK_METHOD_NOT_FOUND, "method",
	  "io.iotracer.start" },
	{ "{\"method\":\"io.iotracer.\"}", VARLINK_METHOD_NOT_FOUND, "method", "io.iotracer." },
	{ "{\"method\":\"io.iotracerd.Start\"}", VARLINK_INTERFACE_NOT_FOUND, "interface",
	  "io.iotracerd" },
	{ "{\"method\":\"io.Start\"}", VARLINK_INTERFACE_NOT_FOUND, "interface", "io" },
	{ "{\"method\":\".\"}", VARLINK_INTERFACE_NOT_FOUND, "interface", "" },
	{ "{\"method\":\"Start\"}", VARLINK_INVALID_PARAMETER, "parameter", "method" },
	{ "{\"method\":\"\"}", VARLINK_INVALID_PARAMETER, "parameter", "method" },
	{ "{\"method\":\"io.iotracer.List\",\"upgrade\":true}", VARLINK_INVALID_PARAMETER,
	  "parameter", "upgrade" },
	{ "{\"method\":\"org.varlink.service.GetInterfaceDescription\"}", VARLINK_INVALID_PARAMETER,
	  "parameter", "interface" },
	{ "{\"method\":\"org.varlink.service.GetInterfaceDescription\","
	  "\"parameters\":{\"interface\":7}}",
	  VARLINK_INVALID_PARAMETER, "parameter", "interface" },
	{ "{\"method\":\"org.varlink.service.GetInterfaceDescription\","
	  "\"parameters\":{\"interface\":\"a.b\"}}",
	  VARLINK_INTERFACE_NOT_FOUND, "interface", "a.b" },
};

START_TEST(finds_methods)
{
	rig_judge(&rig, &calls[_i]);
}
END_TEST

/* Whether the description has a line that begins with these words. */
static bool describes(const char *description, const char *kind, const char *name)
{
	char line[128];
	size_t length = (size_t)snprintf(line, sizeof(line), "\n%s %s", kind, name);
	const char *at = strstr(description, line);

	return at && !isalnum((unsigned char)at[length]);
}

START_TEST(describes_every_method)
{
	for (size_t i = 0; interfaces[i]; i++) {
		const struct interface *interface = interfaces[i];

		ck_assert(describes(interface->description, "interface", interface->name));
		for (size_t j = 0; j < interface->method_count; j++)
			ck_assert_msg(describes(interface->description, "method",
						interface->methods[j].name),
				      "%s.%s has no description", interface->name,
				      interface->methods[j].name);
	}
}
END_TEST

static const char *const errors[] = {
	IOTR_NO_SUCH_SESSION, IOTR_SESSION_EXISTS,    IOTR_TOO_MANY_SESSIONS,
	IOTR_NO_HOOK,	      IOTR_OUTPUT_UNUSABLE,   IOTR_TOO_MANY_CONNECTIONS,
	IOTR_FAILED,	      IOTR_PERMISSION_DENIED, IOTR_PROTOCOL_ERROR,
};

START_TEST(describes_every_error)
{
	const char *name = errors[_i] + strlen(IOTR_INTERFACE ".");

	ck_assert_msg(describes(interfaces[1]->description, "error", name), "%s", name);
}
END_TEST

/* As a parameter of every method that takes filters. */
START_TEST(describes_every_filter)
{
	static const char *const methods[] = { "Start", "Set", "Top" };
	char method[32], parameter[64];

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		const char *begin, *end, *found;

		snprintf(method, sizeof(method), "\nmethod %s(\n", methods[i]);
		snprintf(parameter, sizeof(parameter), "\n  %s: ?", iotr_spec_filter_name((enum iotr_spec_filter)_i));
		begin = strstr(interfaces[1]->description, method);
		ck_assert_ptr_nonnull(begin);
		end = strstr(begin, "\n) -> (");
		found = strstr(begin, parameter);
		ck_assert_msg(found && found < end, "%s: %s", methods[i], parameter + 3);
	}
	ck_assert_ptr_null(strchr(interfaces[1]->description, '@'));
}
END_TEST

START_TEST(gives_its_description)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply =
		rig_call(&rig, fd,
			 "{\"method\":\"org.varlink.service.GetInterfaceDescription\","
			 "\"parameters\":{\"interface\":\"io.iotracer\"}}");

	ck_assert_str_eq(rig_parameter(reply, "description"), interfaces[1]->description);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, finds_methods, 0, sizeof(calls) / sizeof(calls[0]));
	tcase_add_test(tests, describes_every_method);
	tcase_add_loop_test(tests, describes_every_error, 0, sizeof(errors) / sizeof(errors[0]));
	tcase_add_loop_test(tests, describes_every_filter, 0, IOTR_SPEC_FILTER_COUNT);
	tcase_add_test(tests, gives_its_description);
}

int main(void)
{
	return run_suite("dispatch", add);
}
