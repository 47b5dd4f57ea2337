// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "log.h"
#include "manager.h"
#include "protocol.h"

enum { EXIT_USAGE = 2 };

static const char help[] =
	"Usage: iotracerd [OPTION...]\n"
	"\n"
	"Records what the I/O of this machine does. Controlled with iotracectl.\n"
	"\n"
	"      --runtime-dir DIR  folder of the control socket [" IOTR_RUNTIME_DIR "]\n"
	"      --log-dir DIR      folder of the traces [" CONFIG_LOG_DIR "]\n"
	"      --state-dir DIR    folder of what is kept between runs [" CONFIG_STATE_DIR "]\n"
	"      --config FILE      configuration, with drop-ins in FILE.d [" CONFIG_PATH "]\n"
	"  -h, --help             show this\n"
	"      --version          show the version\n";

enum {
	OPTION_RUNTIME_DIR = 256,
	OPTION_LOG_DIR,
	OPTION_STATE_DIR,
	OPTION_CONFIG,
	OPTION_LEVEL,
	OPTION_VERSION
};

static const struct option options[] = {
	{ "runtime-dir", required_argument, NULL, OPTION_RUNTIME_DIR },
	{ "log-dir", required_argument, NULL, OPTION_LOG_DIR },
	{ "state-dir", required_argument, NULL, OPTION_STATE_DIR },
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "level", required_argument, NULL, OPTION_LEVEL },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ 0 },
};

static void usage_error(const char *what, const char *value)
{
	fprintf(stderr, "iotracerd: %s: %s\nTry 'iotracerd --help'.\n", what, value);
	exit(EXIT_USAGE);
}

static void show(const char *text)
{
	fputs(text, stdout);
	exit(fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Absolute, as the daemon may outlive the folder it was started in. */
static const char *absolute(const char *option, const char *path)
{
	char folder[PATH_MAX], *joined;

	if (!*path)
		usage_error(option, "the path is empty");
	if (*path == '/')
		joined = strdup(path);
	else if (!getcwd(folder, sizeof(folder)) || asprintf(&joined, "%s/%s", folder, path) < 0)
		joined = NULL;
	if (!joined || strlen(joined) >= PATH_MAX)
		usage_error(option, "the path is too long");
	return joined;
}

static const char *known_level(const char *level)
{
	static const char *const levels[] = { "auto", "function", "tracepoint" };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcmp(levels[i], level))
			return levels[i];
	usage_error("--level is none of auto, function, tracepoint", level);
	return NULL;
}

static void take_option(struct manager_options *chosen, int option)
{
	switch (option) {
	case OPTION_RUNTIME_DIR:
		chosen->runtime_dir = absolute("--runtime-dir", optarg);
		break;
	case OPTION_LOG_DIR:
		chosen->log_dir = absolute("--log-dir", optarg);
		break;
	case OPTION_STATE_DIR:
		chosen->state_dir = absolute("--state-dir", optarg);
		break;
	case OPTION_CONFIG:
		chosen->config = absolute("--config", optarg);
		break;
	case OPTION_LEVEL:
		chosen->level = known_level(optarg);
		break;
	case 'h':
		show(help);
		break;
	case OPTION_VERSION:
		show("iotracerd " IOTRACER_VERSION "\n");
		break;
	default: /* getopt has said what is wrong */
		fputs("Try 'iotracerd --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
}

int main(int argc, char **argv)
{
	struct manager_options chosen = { 0 };
	struct manager *manager = NULL;
	int option, r;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) >= 0)
		take_option(&chosen, option);
	if (optind < argc)
		usage_error("there are no arguments but options", argv[optind]);

	log_open();
	r = manager_new(&chosen, &manager);
	if (r >= 0)
		r = manager_run(manager);
	manager_free(manager);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
