// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroups/identity.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

#define ID  "0b6f9a1c2d3e4f50617283949a0b1c2d3e4f50617283949a0b1c2d3e4f506172"
#define ID2 "ffff9a1c2d3e4f50617283949a0b1c2d3e4f50617283949a0b1c2d3e4f50ffff"
#define UID "9b4f8a52-1c3d-4e5f-8a6b-7c8d9e0f1a2b"
#define UID_SLICE "9b4f8a52_1c3d_4e5f_8a6b_7c8d9e0f1a2b"
#define STATIC "d41d8cd98f00b204e9800998ecf8427e"

/* Paths as the makers of such cgroups name them, then some that only look like one. */
static const struct {
	const char *path, *unit, *container_id, *pod_uid;
} rows[] = {
	{ "/", "", "", "" },
	{ "/init.scope", "init.scope", "", "" },
	{ "/system.slice", "", "", "" },
	{ "/system.slice/nginx.service", "nginx.service", "", "" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "", "" },
	{ "/system.slice/dbus.socket", "dbus.socket", "", "" },
	{ "/system.slice/boot-efi.mount", "boot-efi.mount", "", "" },
	{ "/system.slice/systemd-fsck@dev-disk-by\\x2duuid-0A1B.service", "systemd-fsck@dev-disk-by\\x2duuid-0A1B.service",
	  "", "" },
	{ "/system.slice/_cpu.service", "cpu.service", "", "" },
	{ "/system.slice/__escaped.service", "_escaped.service", "", "" },
	{ "/system.slice/postgresql.service/worker", "postgresql.service", "", "" },
	{ "/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-4711.scope",
	  "app-gnome-firefox-4711.scope", "", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "init.scope", "", "" },
	/* Docker, with systemd's cgroups and with its own. */
	{ "/system.slice/docker-" ID ".scope", "docker-" ID ".scope", ID, "" },
	{ "/docker/" ID, "", ID, "" },
	{ "/docker/" ID "/docker/" ID2, "", ID2, "" },
	{ "/system.slice/docker-" ID ".scope/init.scope", "init.scope", ID, "" },
	/* Kubernetes: containerd, CRI-O, static and guaranteed pods, kind. */
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_SLICE ".slice/cri-containerd-" ID ".scope",
	  "cri-containerd-" ID ".scope", ID, UID },
	{ "/kubepods/burstable/pod" UID "/" ID, "", ID, UID },
	{ "/kubepods/besteffort/pod" UID, "", "", UID },
	{ "/kubepods.slice/kubepods-pod" UID_SLICE ".slice/crio-" ID ".scope", "crio-" ID ".scope", ID, UID },
	{ "/kubepods.slice/kubepods-pod" UID_SLICE ".slice/crio-" ID ".scope/container", "crio-" ID ".scope", ID, UID },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC ".slice", "", "", STATIC },
	{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" UID_SLICE
	  ".slice/cri-containerd-" ID ".scope", "cri-containerd-" ID ".scope", ID, UID },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_SLICE ".slice:cri-containerd:" ID,
	  "containerd.service", ID, UID },
	/* Podman, of root and of a user; the process that watches a container is not in it. */
	{ "/machine.slice/libpod-" ID ".scope", "libpod-" ID ".scope", ID, "" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container", "libpod-" ID ".scope",
	  ID, "" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "", "" },
	{ "/libpod_parent/libpod-" ID, "", ID, "" },
	{ "/system.slice/nerdctl-" ID ".scope", "nerdctl-" ID ".scope", ID, "" },
	{ "/ecs/1234abcd/" ID, "", ID, "" },
	/* What only looks like it. */
	{ "/docker/0b6f9a", "", "", "" },
	{ "/docker/" ID "0", "", "", "" },
	{ "/docker/0B6F9A1C2D3E4F50617283949A0B1C2D3E4F50617283949A0B1C2D3E4F506172", "", "", "" },
	{ "/system.slice/docker-.scope", "docker-.scope", "", "" },
	{ "/a/pod" UID, "", "", "" },
	{ "/kubepods/" STATIC, "", "", "" },
	{ "/kubepods/pod9b4f8a52-1c3d-4e5f-8a6b", "", "", "" },
	{ "/kubepods.slice/kubepods-podXb4f8a52_1c3d_4e5f_8a6b_7c8d9e0f1a2b.slice", "", "", "" },
	{ "/.service", "", "", "" },
	{ "/@.service", "", "", "" },
	{ "/service", "", "", "" },
	{ "/a.services", "", "", "" },
	/* No unit has such a name, so these are folders that somebody made. */
	{ "/a\nb.service", "", "", "" },
	{ "/a,b.service", "", "", "" },
	{ "/a\"b.service", "", "", "" },
	{ "/a b.service", "", "", "" },
	{ "/\xff\x01.scope", "", "", "" },
	{ "/\xc3\xa4.service/x", "", "", "" },
	{ "//", "", "", "" },
	{ "", "", "", "" },
	{ ".../nginx.service", "nginx.service", "", "" },
};

START_TEST(tells)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cgroup_identity identity;

		cgroup_identify(rows[i].path, &identity);
		ck_assert_msg(!strcmp(identity.unit, rows[i].unit), "unit of %s: %s", rows[i].path, identity.unit);
		ck_assert_msg(!strcmp(identity.container_id, rows[i].container_id), "container of %s: %s", rows[i].path,
			      identity.container_id);
		ck_assert_msg(!strcmp(identity.pod_uid, rows[i].pod_uid), "pod of %s: %s", rows[i].path, identity.pod_uid);
	}
}
END_TEST

/* The longest unit that fits, and one byte more; and a name of every byte. */
START_TEST(bounds)
{
	struct cgroup_identity identity;
	char path[400] = "/";

	memset(path + 1, 'a', CGROUP_UNIT_SIZE - 1);
	strcpy(path + CGROUP_UNIT_SIZE - strlen(".service"), ".service");
	cgroup_identify(path, &identity);
	ck_assert_str_eq(identity.unit, path + 1);
	memset(path + 1, 'a', CGROUP_UNIT_SIZE);
	strcpy(path + 1 + CGROUP_UNIT_SIZE - strlen(".service"), ".service");
	cgroup_identify(path, &identity);
	ck_assert_str_eq(identity.unit, "");
	for (int byte = 1; byte < 256; byte++) {
		snprintf(path, sizeof(path), "/%c.scope/pod%c/docker-%c.scope", byte, byte, byte);
		cgroup_identify(path, &identity);
		ck_assert_str_eq(identity.container_id, "");
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, tells);
	tcase_add_test(tests, bounds);
}

int main(void)
{
	return run_suite("cgroup_identity", add);
}
