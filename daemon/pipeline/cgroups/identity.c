// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroups/identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define HEX	   "0123456789abcdef"
#define CONTAINER  ((size_t)CGROUP_CONTAINER_SIZE - 1)
#define POD	   ((size_t)CGROUP_POD_SIZE - 1)
#define STATIC_POD 32
#define UNIT_CHARACTERS                                                                                                \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@"

/* A folder's name within the path. */
struct name {
	const char *text;
	size_t length;
};

static bool starts(struct name name, const char *with)
{
	size_t length = strlen(with);

	return name.length >= length && !memcmp(name.text, with, length);
}

static bool ends(struct name name, const char *with)
{
	size_t length = strlen(with);

	return name.length >= length && !memcmp(name.text + name.length - length, with, length);
}

static struct name without(struct name name, size_t before, size_t after)
{
	return (struct name){ name.text + before, name.length - before - after };
}

static bool consists_of(struct name name, const char *characters)
{
	for (size_t i = 0; i < name.length; i++)
		if (!name.text[i] || !strchr(characters, name.text[i]))
			return false;
	return true;
}

static void copy(struct name name, char *to)
{
	memcpy(to, name.text, name.length);
	to[name.length] = '\0';
}

/* ---- units ---- */

static bool is_unit(struct name name)
{
	/* Of the types of units, those that processes are in; a slice only has other units. */
	static const char *const types[] = { ".service", ".scope", ".socket", ".mount", ".swap" };

	if (!name.length || name.length >= CGROUP_UNIT_SIZE || name.text[0] == '@' || !consists_of(name, UNIT_CHARACTERS))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (ends(name, types[i]) && name.length > strlen(types[i]))
			return true;
	return false;
}

static void look_for_unit(struct name name, struct cgroup_identity *ret)
{
	if (starts(name, "_"))
		name = without(name, 1, 0);
	if (is_unit(name))
		copy(name, ret->unit);
}

/* ---- containers ---- */

/*
 * 64 hex digits: alone, as /docker/ID; after what made it, as docker-ID.scope; or after the pod's slice, as
 * kubepods-pod1.slice:cri-containerd:ID.
 */
static void look_for_container(struct name name, struct cgroup_identity *ret)
{
	static const char *const makers[] = { "docker-", "cri-containerd-", "libpod-", "crio-", "nerdctl-" };
	const char *colon = memrchr(name.text, ':', name.length);

	if (ends(name, ".scope"))
		name = without(name, 0, strlen(".scope"));
	if (colon && starts(name, "kubepods"))
		name = without(name, (size_t)(colon + 1 - name.text), 0);
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (starts(name, makers[i])) {
			name = without(name, strlen(makers[i]), 0);
			break;
		}
	if (name.length == CONTAINER && consists_of(name, HEX))
		copy(name, ret->container_id);
}

/* ---- pods ---- */

static bool is_dash(size_t at)
{
	return at == 8 || at == 13 || at == 18 || at == 23;
}

/* A UUID, with underscores for dashes where the name is a slice's, or 32 hex digits. */
static bool is_uid(struct name name)
{
	if (name.length == STATIC_POD)
		return consists_of(name, HEX);
	if (name.length != POD)
		return false;
	for (size_t i = 0; i < POD; i++)
		if (!name.text[i] || !strchr(is_dash(i) ? "-_" : HEX, name.text[i]))
			return false;
	return true;
}

/* The name after the last "-pod" of a slice, as kubepods-burstable-podUID.slice; NULL: it is none. */
static const char *uid_in_slice(struct name name)
{
	const char *last = NULL;

	for (size_t i = 0; i + 4 <= name.length; i++)
		if (!memcmp(name.text + i, "-pod", 4))
			last = name.text + i + 4;
	return last;
}

/* `below_kubepods`: the name, or one above it, is Kubernetes' own. */
static void look_for_pod(struct name name, bool below_kubepods, struct cgroup_identity *ret)
{
	const char *slice = memmem(name.text, name.length, ".slice", 6), *uid;

	if (!below_kubepods)
		return;
	if (slice) {
		name.length = (size_t)(slice - name.text);
		uid = uid_in_slice(name);
		name = uid ? without(name, (size_t)(uid - name.text), 0) : (struct name){ 0 };
	} else if (starts(name, "pod")) {
		name = without(name, 3, 0);
	} else {
		return;
	}
	if (!is_uid(name))
		return;
	copy(name, ret->pod_uid);
	for (char *at = ret->pod_uid; (at = strchr(at, '_'));)
		*at = '-';
}

void cgroup_identify(const char *path, struct cgroup_identity *ret)
{
	bool below_kubepods = false;

	*ret = (struct cgroup_identity){ 0 };
	while (*path) {
		struct name name = { path, strcspn(path, "/") };

		below_kubepods |= starts(name, "kubepods") || starts(name, "kubelet-kubepods");
		look_for_unit(name, ret);
		look_for_container(name, ret);
		look_for_pod(name, below_kubepods, ret);
		path += name.length;
		path += *path == '/';
	}
}
