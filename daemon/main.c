// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_dump.h"
#include "log.h"
#include "manager.h"
#include "metrics/metrics_listen.h"
#include "protocol.h"
#include "selftest/selftest.h"
#include "snapshot/snapshot.h"
#include "standard_files.h"
#include "tree.h"

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
	"      --check-config     say what is wrong in the configuration and the sessions it declares, or in the\n"
	"                         file that follows, and end\n"
	"      --dump-config      print all settings, each with the file that it is from, and end\n"
	"      --level LEVEL      how system calls are seen: auto, function or tracepoint [auto]\n"
	"  -h, --help             show this\n"
	"      --version          show the version\n";

enum { OPTION_LEVEL = 256, OPTION_VERSION, OPTION_CHECK, OPTION_DUMP, OPTION_PATH };

/* Options whose value is a path, and the member that takes it. */
static const struct {
	const char *name;
	size_t offset;
} paths[] = {
	{ "--runtime-dir", offsetof(struct manager_options, runtime_dir) },
	{ "--log-dir", offsetof(struct manager_options, log_dir) },
	{ "--state-dir", offsetof(struct manager_options, state_dir) },
	{ "--config", offsetof(struct manager_options, config) },
};

static const struct option options[] = {
	{ "runtime-dir", required_argument, NULL, OPTION_PATH },
	{ "log-dir", required_argument, NULL, OPTION_PATH + 1 },
	{ "state-dir", required_argument, NULL, OPTION_PATH + 2 },
	{ "config", required_argument, NULL, OPTION_PATH + 3 },
	{ "check-config", no_argument, NULL, OPTION_CHECK },
	{ "dump-config", no_argument, NULL, OPTION_DUMP },
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

enum { CONFIG_OPTION = 3 }; /* its place in the table above */

/* Makes the path absolute, as the daemon may change its working directory. */
static void take_path(struct manager_options *chosen, int number, const char *path)
{
	char *field = (char *)chosen + paths[number].offset;
	char folder[PATH_MAX] = "";

	if (!*path)
		usage_error(paths[number].name, "the path is empty");
	if (*path != '/' && !getcwd(folder, sizeof(folder)))
		usage_error(paths[number].name, strerror(errno));
	if (snprintf(field, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", path) >= PATH_MAX)
		usage_error(paths[number].name, "the path is too long");
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

/* What is done with the configuration in place of serving; NULL: the daemon serves. */
static bool (*look_at_config)(const char *path, bool required);

static void take_option(struct manager_options *chosen, int option)
{
	switch (option) {
	case OPTION_CHECK:
		look_at_config = config_check;
		break;
	case OPTION_DUMP:
		look_at_config = config_dump;
		break;
	case OPTION_PATH ... OPTION_PATH + 3:
		take_path(chosen, option - OPTION_PATH, optarg);
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
	default: /* getopt has printed the error */
		fputs("Try 'iotracerd --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
}

int main(int argc, char **argv)
{
	struct manager_options chosen = { 0 };
	struct manager *manager = NULL;
	int option, r = hold_standard_files();

	if (r < 0) {
		fprintf(stderr, "iotracerd: cannot open /dev/null: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	r = tree_begin();
	if (r < 0) {
		fprintf(stderr, "iotracerd: " TREE_OF "=%s: the tree of that process cannot be had: %s\n", getenv(TREE_OF), strerror(-r));
		return EXIT_FAILURE;
	}
	if ((argc == 2 || argc == 3) && !strcmp(argv[1], SELFTEST_OPTION))
		return selftest_main(argv[2]);
	if (argc == 2 && !strcmp(argv[1], SNAPSHOT_HELPER))
		return snapshot_helper();
	if (argc == 2 && !strcmp(argv[1], METRICS_LISTEN_OPTION))
		return metrics_listen_main();
	while ((option = getopt_long(argc, argv, "h", options, NULL)) >= 0)
		take_option(&chosen, option);
	if (look_at_config == config_check && optind + 1 == argc)
		take_path(&chosen, CONFIG_OPTION, argv[optind++]);
	if (optind < argc)
		usage_error("only options are taken", argv[optind]);

	if (look_at_config)
		return look_at_config(*chosen.config ? chosen.config : CONFIG_PATH, *chosen.config) ? EXIT_SUCCESS : EXIT_FAILURE;

	log_open();
	r = manager_new(&chosen, &manager);
	if (r >= 0)
		r = manager_run(manager);
	if (!manager_free(manager) && r >= 0)
		r = -ETIMEDOUT;
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
