# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# Of the Debian package. Sourced by guest.

export DEBIAN_FRONTEND=noninteractive

must 'dpkg --install' dpkg --install first.deb
must_serve
must 'the configuration is a conffile' grep -q "^ $conf " <(dpkg-query -W -f '${Conffiles}' iotracer)
must 'nothing of the package differs' dpkg --verify iotracer
step_ended installed

must_upgrade_under_load dpkg --install second.deb
must 'it is the new one' test "$(dpkg-query -W -f '${Version}' iotracer)" = "$(dpkg-deb -f second.deb Version)"
step_ended upgraded_under_load

must 'dpkg --remove' dpkg --remove iotracer
must_be_gone
must 'the configuration stays' test -e "$conf"
step_ended removed

must 'dpkg --purge' dpkg --purge iotracer
for path in /etc/iotracer /var/lib/iotracer /var/log/iotracer; do
    must "$path is gone" not test -e "$path"
done
must 'the groups stay' getent group iotracer iotracer-read
must 'dpkg has forgotten it' not dpkg-query -W iotracer
step_ended purged
