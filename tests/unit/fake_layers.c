// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts by layer without a kernel. */
#include "fake_layers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "probes/layers.h"

struct fake_layers fake_layers;

void fake_layers_reset(void)
{
	fake_layers = (struct fake_layers){ 0 };
}

struct layers {
	int unused;
};

int layers_load(struct probes *probes, struct layers **ret, char *why, size_t why_size)
{
	(void)probes;
	if (fake_layers.refused) {
		snprintf(why, why_size, "%s", fake_layers.refused);
		return -EPERM;
	}
	*ret = calloc(1, sizeof(**ret));
	fake_layers.loaded++;
	return *ret ? 0 : -ENOMEM;
}

int layers_attach(struct layers *layers)
{
	(void)layers;
	fake_layers.attached = true;
	return 0;
}

void layers_detach(struct layers *layers)
{
	(void)layers;
	fake_layers.attached = false;
}

void layers_free(struct layers *layers)
{
	if (layers)
		fake_layers.attached = false;
	free(layers);
}

int layers_read(struct layers *layers, layers_handler handler, void *userdata)
{
	(void)layers;
	for (size_t i = 0; i < fake_layers.count; i++)
		handler(&fake_layers.accounts[i], userdata);
	return 0;
}

int layers_follow(struct layers *layers, uint32_t process, uint32_t command)
{
	(void)layers;
	if (fake_layers.follow_error)
		return fake_layers.follow_error;
	fake_layers.followed = process;
	fake_layers.commands |= command;
	return 0;
}

void layers_leave(struct layers *layers, uint32_t command)
{
	(void)layers;
	fake_layers.commands &= ~command;
}

uint32_t layers_commands(const struct layers *layers, const struct iotr_layer_key *key)
{
	(void)layers;
	return key->process == fake_layers.followed ? fake_layers.commands : 0;
}

size_t layers_missing(const struct layers *layers, const struct layers_missing **ret)
{
	(void)layers;
	*ret = &fake_layers.missing;
	return fake_layers.missing.hook != NULL;
}

void layers_statistics(const struct layers *layers, struct layers_statistics *ret)
{
	(void)layers;
	*ret = (struct layers_statistics){ .accounts = (uint32_t)fake_layers.count };
}
