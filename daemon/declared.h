/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions that files declare (see session_file.h): makes what runs what they say. Main thread.
 */
#pragma once

#include "config/config.h"
#include "engine.h"

struct declared;

/* `config`: path of the configuration, beside which the files are; copied. */
int declared_new(struct engine *engine, const char *config, struct declared **ret);

/*
 * Reads the files. What is declared and does not run is started; what runs and is declared otherwise is changed, by its filters
 * alone without a gap; what was declared and is not any more is stopped. A file that cannot be used, and a session of that name
 * that a client has started, are told of, and all that runs of that name stays as it is.
 */
void declared_apply(struct declared *declared, config_critic critic, void *userdata);

/* The engine ends next: nothing is started any more. */
void declared_end(struct declared *declared);
void declared_free(struct declared *declared); /* after the engine; takes NULL */
