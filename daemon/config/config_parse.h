/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of iotracerd.conf, as settings.def names their parsers. Each reads a value that is not empty into the
 * field of struct config that the table gives for it, and returns NULL, or what is wrong with the value; then the
 * field is as it was. Pure functions.
 */
#pragma once

const char *config_parse_log_level(const char *value, void *field);
const char *config_parse_directory(const char *value, void *field);
const char *config_parse_interval(const char *value, void *field);
const char *config_parse_depth(const char *value, void *field);
const char *config_parse_country(const char *value, void *field);
const char *config_parse_flag(const char *value, void *field);
const char *config_parse_share(const char *value, void *field);
const char *config_parse_ring_size(const char *value, void *field);
const char *config_parse_queue_size(const char *value, void *field);
const char *config_parse_listen(const char *value, void *field);
const char *config_parse_text_file(const char *value, void *field);
const char *config_parse_period(const char *value, void *field);
const char *config_parse_free(const char *value, void *field);
