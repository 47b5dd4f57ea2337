/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts about the machine, as JSON: read from /proc, /sys and files of the system, never asked for
 * over a network. A fact that is not known is null. `root` is put before every path: a folder with the machine's files, or in
 * tests with others. Objects are new and the caller's. Worker thread.
 */
#pragma once

#include <json-c/json.h>

#include "job.h"

/* The file's text without white space around it, to be freed; NULL when there is none. */
char *system_read(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The last part of a symbolic link's target; NULL when there is none. */
char *system_link(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Names in a folder, sorted, ended by NULL; to be freed with system_names_free(). */
char **system_names(const char *root, const char *folder);
void system_names_free(char **names);

/* A member with the text, or null. Bytes that are no text are escaped. */
void system_add(struct json_object *object, const char *key, const char *text);
/* The same for a name, in the form in which the job may show it. */
void system_add_name(struct job *job, struct json_object *object, const char *key, enum job_name kind,
		     const char *text);
/* A member "device", as of a row. */
void system_add_device(struct json_object *object, uint32_t major, uint32_t minor);
/* A member with a whole number, times `unit`; null where the text is none. */
void system_add_number(struct json_object *object, const char *key, const char *text, uint64_t unit);

struct json_object *system_os(const char *root);
struct json_object *system_kernel(void);
struct json_object *system_machine(const char *root); /* bare metal, virtual, container */
struct json_object *system_cpu(const char *root);
struct json_object *system_memory(const char *root);
struct json_object *system_swap(const char *root);
struct json_object *system_gpus(const char *root);
struct json_object *system_disks(const char *root);
struct json_object *system_links(const char *root, struct job *job);
/* Adds the time zone and its country, "Europe/Berlin" and "DE"; `country` is taken instead when it is not empty. */
void system_place(const char *root, const char *country, struct json_object *to);

/* The facts for people: a line each, indented by depth. To be freed. */
char *system_text(struct json_object *facts);
