// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "cleanup.h"
#include "config/config.h"
#include "control/context.h"
#include "control/interfaces.h"
#include "control/listener.h"
#include "control/server.h"
#include "declared.h"
#include "engine.h"
#include "escape.h"
#include "fd_store.h"
#include "host_watch.h"
#include "instance.h"
#include "log.h"
#include "metrics/metrics.h"
#include "pipeline/consumer.h"
#include "privilege.h"
#include "probes/symbols.h"
#include "protocol.h"
#include "rights.h"
#include "watchdog.h"

struct manager {
	const struct manager_options *options;
	struct config config;
	sd_event *event;
	struct engine *engine;
	struct declared *declared; /* sessions of files */
	struct metrics *metrics;
	struct watchdog *watchdog;
	struct host_watch *host;
	struct server *server;
	struct control control;
	struct fd_store_passed passed;
	int lock, state_lock;
	int symbols; /* see probes/symbols.h */
	char socket[PATH_MAX];
	bool socket_ours; /* created here, so it must be removed here */
};

DEFINE_CLEANUP(struct manager *, manager_free);

static uint64_t now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static const char *config_path(const struct manager_options *options)
{
	return *options->config ? options->config : CONFIG_PATH;
}

static void override_folder(char *field, const char *value)
{
	if (*value)
		snprintf(field, PATH_MAX, "%s", value);
}

/* The command line takes precedence over the files. */
static void override(struct config *config, const struct manager_options *options)
{
	override_folder(config->runtime_dir, options->runtime_dir);
	override_folder(config->log_dir, options->log_dir);
	override_folder(config->state_dir, options->state_dir);
}

static int load_config(struct manager *manager)
{
	const struct manager_options *options = manager->options;
	struct config *config = &manager->config;
	int r = config_load(config_path(options), *options->config, config);

	if (r < 0)
		return r;
	override(config, options);
	log_set_level(config->log_level);

	r = snprintf(manager->socket, sizeof(manager->socket), "%s/%s", config->runtime_dir,
		     IOTR_SOCKET_NAME);
	return (size_t)r < sizeof(manager->socket) ? 0 : -ENAMETOOLONG;
}

/* Findings of an examination of the configuration, as JSON; a sentence may contain any byte. */
struct findings {
	struct json_object *errors, *warnings;
};

static void add_escaped(struct json_object *array, const char *text)
{
	size_t length = strlen(text);
	_cleanup_free_ char *escaped = malloc(ESCAPE_MAX(length) + 1);

	if (!escaped)
		return;
	length = escape_text(text, length, escaped);
	json_object_array_add(array, json_object_new_string_len(escaped, (int)length));
}

static void on_finding(enum config_finding finding, const char *sentence, void *userdata)
{
	const struct findings *findings = userdata;
	bool usable = finding == CONFIG_UNKNOWN || finding == CONFIG_LATER;

	if (finding == CONFIG_UNKNOWN)
		log_message(ABOUT(CONFIG_UNKNOWN), "%s, ignored", sentence);
	else if (finding == CONFIG_LATER)
		log_message(ABOUT(CONFIG_LATER), "%s", sentence);
	else
		log_message(ABOUT(CONFIG_WRONG), "%s", sentence);
	add_escaped(usable ? findings->warnings : findings->errors, sentence);
}

/* -EINVAL: there are errors, and the configuration is not used at all. */
static int examine_config(const struct manager_options *options, struct config *config,
			  struct findings *findings)
{
	int r = config_examine(config_path(options), *options->config, CONFIG_DECIDES, config, on_finding, findings);

	return r >= 0 && json_object_array_length(findings->errors) ? -EINVAL : r;
}

/* Applies what can change at run time. */
static void apply_config(struct manager *manager, const struct config *fresh)
{
	log_set_level(fresh->log_level);
	manager->config.log_level = fresh->log_level;
	engine_set_storage(manager->engine,
			   &(struct engine_storage){ fresh->max_use, fresh->keep_free });
	manager->config.systems = fresh->systems;
	manager->config.counting = fresh->counting;
	manager->config.queue_size = fresh->queue_size;
	metrics_set(manager->metrics, &fresh->metrics);
	engine_set_counting(manager->engine, fresh->counting);
	manager->config.snapshots = fresh->snapshots;
	memcpy(manager->config.country, fresh->country, sizeof(fresh->country));
}

static int reload(void *userdata, struct json_object *errors, struct json_object *warnings)
{
	struct findings findings = { errors, warnings };
	struct manager *manager = userdata;
	struct config fresh;
	int r;

	sd_notifyf(false, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)now_usec());
	r = examine_config(manager->options, &fresh, &findings);
	if (r >= 0) {
		override(&fresh, manager->options);
		config_tell_later(&manager->config, &fresh, on_finding, &findings);
		apply_config(manager, &fresh);
		declared_apply(manager->declared, on_finding, &findings);
		log_message(ABOUT(CONFIG_LOADED), "configuration reloaded%s",
			    json_object_array_length(errors) ? ", but for the sessions of the files above" : "");
	}
	if (r < 0)
		log_message(ABOUT(CONFIG_WRONG),
			    "configuration not reloaded, because of the errors above: all settings and sessions stay as "
			    "they were");
	sd_notify(false, "READY=1");
	return r;
}

/*
 * Checks whether another daemon serves the socket, and locks the folder. A socket that systemd passed to us
 * accepts connections already, so it is not checked.
 */
static int claim_instance(struct manager *manager, bool inherited)
{
	const char *folder = manager->config.runtime_dir;
	int r = instance_make_folder(folder);

	if (r < 0)
		log_message(ABOUT(START_FAILED, .error = -r),
			    "cannot create %s: %s%s", folder, strerror(-r),
			    r == -EACCES ? " (iotracerd needs to be root)" : "");
	if (r < 0)
		return r;
	r = !inherited && listener_is_served(manager->socket)
		    ? -EADDRINUSE
		    : instance_lock(folder, &manager->lock);
	if (r == -EADDRINUSE)
		log_message(ABOUT(START_FAILED, .error = -r),
			    "another iotracerd runs already: %s is in use", manager->socket);
	else if (r < 0)
		log_message(ABOUT(START_FAILED, .error = -r), "cannot lock %s: %s", folder, strerror(-r));
	return r;
}

/*
 * What another daemon's sessions have left in its notes would look like sessions that were killed, whose files this one
 * would then close while they are written. A folder that cannot be had is told of by who needs it: it has no notes.
 */
static int claim_state(struct manager *manager)
{
	const char *folder = manager->config.state_dir;

	if (instance_lock_state(folder, &manager->state_lock) != -EADDRINUSE)
		return 0;
	log_message(ABOUT(START_FAILED, .error = EADDRINUSE),
		    "another iotracerd keeps its sessions in %s: give this one a folder of its own, with --state-dir", folder);
	return -EADDRINUSE;
}

static int load_engine(struct manager *manager)
{
	const gid_t *control = &manager->control.groups[ROLE_CONTROL];
	const struct engine_config config = {
		.log_dir = manager->config.log_dir,
		.state_dir = manager->config.state_dir,
		.level = manager->options->level ?: "auto",
		.snapshots = &manager->config.snapshots,
		.country = manager->config.country,
		.resume = manager->config.resume,
		.readers = *control == GROUP_NONE ? NULL : control,
		.storage = { manager->config.max_use, manager->config.keep_free },
		.systems = &manager->config.systems,
		.counting = manager->config.counting,
		.ring_size = (uint32_t)manager->config.ring_size,
		.queue_size = &manager->config.queue_size,
		.symbols = manager->symbols,
		.bequest = manager->passed.stored[FD_STORE_PROGRAMS],
		.hooks = manager->passed.stored[FD_STORE_HOOKS],
	};
	struct engine_error error = { 0 };
	int r = engine_new(&config, manager->event, &manager->engine, &error);

	if (r < 0)
		log_message(ABOUT(START_FAILED, .error = -r),
			    "nothing can be traced: %s", *error.message ? error.message : strerror(-r));
	return r;
}

/* Those that went on are there already. */
static int start_declared(struct manager *manager)
{
	_cleanup_json_ struct json_object *errors = json_object_new_array(), *warnings = json_object_new_array();
	struct findings findings = { errors, warnings };
	int r = declared_new(manager->engine, config_path(manager->options), &manager->declared);

	if (r >= 0)
		declared_apply(manager->declared, on_finding, &findings);
	return r;
}

static void find_groups(struct control *control)
{
	for (enum role role = ROLE_NONE + 1; role < ROLE_COUNT; role++) {
		const struct group *group = getgrnam(role_group(role));

		if (!group)
			log_notice("there is no group %s: only root and other groups may have the role %s", role_group(role),
				   role_name(role));
		control->groups[role] = group ? group->gr_gid : GROUP_NONE;
	}
}

/* Without it the daemon serves root and the group of the socket's file. */
static void admit_readers(const struct manager *manager, int fd)
{
	int r = listener_admit(fd, manager->control.groups[ROLE_READ]);

	if (r < 0)
		log_warning("cannot let the group %s connect: %s", role_group(ROLE_READ), strerror(-r));
}

static int listen_passed(struct manager *manager)
{
	struct fd_store_passed *passed = &manager->passed;

	while (passed->socket_count) {
		int fd = passed->sockets[passed->socket_count - 1], r;

		admit_readers(manager, fd);
		r = server_listen(manager->server, fd);
		if (r < 0) {
			log_message(ABOUT(START_FAILED, .error = -r),
				    "cannot listen on the socket from systemd: %s", strerror(-r));
			return r;
		}
		passed->socket_count--;
	}
	return 0;
}

static int listen_own(struct manager *manager)
{
	_cleanup_close_ int fd = -1;
	int r = listener_open(manager->socket, manager->control.groups[ROLE_CONTROL], &fd);

	if (r < 0) {
		log_message(ABOUT(START_FAILED, .error = -r), "cannot listen on %s: %s", manager->socket, strerror(-r));
		return r;
	}
	manager->socket_ours = true;
	admit_readers(manager, fd);
	r = server_listen(manager->server, fd);
	if (r >= 0)
		take_fd(&fd);
	return r;
}

static int serve(struct manager *manager)
{
	int r;

	manager->control.event = manager->event;
	manager->control.engine = manager->engine;
	manager->control.interfaces = interfaces;
	manager->control.started_usec = now_usec();
	manager->control.reload = reload;
	manager->control.userdata = manager;
	r = server_new(&manager->control, &manager->server);
	if (r < 0)
		return r;
	return manager->passed.socket_count ? listen_passed(manager) : listen_own(manager);
}

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	(void)userdata;
	log_message(ABOUT(ENDING), "%s received: ending", info->ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	_cleanup_json_ struct json_object *errors = json_object_new_array();
	_cleanup_json_ struct json_object *warnings = json_object_new_array();

	(void)source, (void)info;
	reload(userdata, errors, warnings);
	return 0;
}

static const struct {
	int number;
	sd_event_signal_handler_t handler;
} signals[] = {
	{ SIGTERM, on_end },
	{ SIGINT, on_end },
	{ SIGHUP, on_hangup },
};

/* Signals are blocked before any thread is created, so that only the event loop receives them. */
static int set_up_loop(struct manager *manager)
{
	sigset_t blocked;
	int r;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&blocked, signals[i].number);
	sigprocmask(SIG_BLOCK, &blocked, NULL);

	r = sd_event_new(&manager->event);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]) && r >= 0; i++)
		r = sd_event_add_signal(manager->event, NULL, signals[i].number, signals[i].handler,
					manager);
	if (r < 0)
		log_message(ABOUT(START_FAILED, .error = -r), "cannot set up the event loop: %s", strerror(-r));
	return r;
}

/*
 * Raises the soft limit of descriptors to the hard limit, as each file of a session and each hook of a program
 * needs one. This is safe for child processes, which are our own program and can handle large numbers.
 */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_warning("cannot raise the limit of open files, for lack of which sessions may be refused: %s", strerror(errno));
}

/* Kernels before 5.11 count maps as locked memory, and to raise its limit takes a right that is given up. */
static void raise_locked_memory(void)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	if (setrlimit(RLIMIT_MEMLOCK, &all) < 0)
		log_debug("the limit of locked memory stays: %s", strerror(errno));
}

/*
 * A limit does for what CAP_SYS_NICE would be kept for else: the threads that take up rows go before what is traced, and
 * those that have gone behind it, to detach hooks or to compress, come back. False: it may not be raised, as in a container.
 */
static bool raise_priority_limit(void)
{
	const struct rlimit most = { 20 - CONSUMER_NICE, 20 - CONSUMER_NICE }; /* as setrlimit(2) counts nice values */

	return setrlimit(RLIMIT_NICE, &most) == 0;
}

static void give_up_privileges(void)
{
	int r = privilege_reduce(!raise_priority_limit());

	rights_forget_keys();
	if (r < 0)
		log_warning("cannot give up the capabilities that are not needed: %s", strerror(-r));
}

static int take_passed(struct fd_store_passed *passed)
{
	int r = fd_store_receive(passed);

	for (size_t i = 0; i < passed->socket_count && r >= 0; i++)
		r = listener_take(passed->sockets[i]);
	if (r < 0)
		log_message(ABOUT(START_FAILED, .error = -r),
			    "cannot use the socket from systemd: %s", strerror(-r));
	return r;
}

static int start(struct manager *manager)
{
	int r;

	raise_descriptors();
	raise_locked_memory();
	manager->symbols = symbols_open();
	give_up_privileges();
	r = take_passed(&manager->passed);
	if (r < 0)
		return r;
	r = load_config(manager);
	if (r < 0)
		return r;
	r = claim_instance(manager, manager->passed.socket_count > 0);
	if (r < 0)
		return r;
	r = claim_state(manager);
	if (r < 0)
		return r;
	r = set_up_loop(manager);
	if (r < 0)
		return r;
	host_watch_new(manager->event, &manager->host);
	find_groups(&manager->control);
	r = load_engine(manager);
	if (r >= 0)
		r = start_declared(manager);
	if (r >= 0)
		r = metrics_new(manager->engine, manager->event, &manager->metrics);
	if (r >= 0)
		metrics_set(manager->metrics, &manager->config.metrics);
	if (r < 0)
		return r;
	return serve(manager);
}

int manager_new(const struct manager_options *options, struct manager **ret)
{
	_cleanup_(manager_freep) struct manager *manager = calloc(1, sizeof(*manager));
	int r;

	if (!manager)
		return -ENOMEM;
	manager->options = options;
	manager->lock = manager->state_lock = -1;
	manager->symbols = -1;
	umask(0027);
	r = start(manager);
	if (r < 0)
		return r;
	*ret = TAKE(manager);
	return 0;
}

int manager_run(struct manager *manager)
{
	int r;

	log_message(ABOUT(SERVING), "version %s, serving on %s", IOTRACER_VERSION, manager->socket);
	/* Not earlier: systemd expects regular signs of life after the first one. */
	watchdog_set(manager->engine, manager->event, &manager->watchdog);
	sd_notifyf(false, "READY=1\nSTATUS=Serving on %s", manager->socket);
	r = sd_event_loop(manager->event);
	sd_notify(false, "STOPPING=1\nSTATUS=Ending sessions");
	if (r < 0)
		log_error("the event loop failed: %s", strerror(-r));
	return r;
}

/* Clients are closed before the sessions end; the locks are released when all is on disk. */
bool manager_free(struct manager *manager)
{
	bool ended;

	if (!manager)
		return true;
	server_free(manager->server);
	if (manager->socket_ours)
		unlink(manager->socket);
	metrics_free(manager->metrics);
	watchdog_free(manager->watchdog);
	host_watch_free(manager->host);
	if (manager->declared)
		declared_end(manager->declared);
	ended = engine_free(manager->engine);
	declared_free(manager->declared);
	sd_event_unref(manager->event);
	fd_store_done(&manager->passed);
	closep(&manager->symbols);
	closep(&manager->lock);
	closep(&manager->state_lock);
	free(manager);
	return ended;
}
