# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# Of the rpm package, by Debian's rpm, which knows of none of the libraries. Sourced by guest.

must 'rpm --install' rpm --install --nodeps first.rpm
must 'the units are enabled as the machine has it' systemctl is-enabled iotracerd.socket
must 'the service starts' systemctl enable --now iotracerd
must_serve
must 'the configuration is one that stays' grep -qx "$conf" <(rpm --query --configfiles iotracer)
must 'nothing of the package differs' rpm --verify --nodeps iotracer
step_ended rpm_installed

must_upgrade_under_load rpm --upgrade --nodeps second.rpm
must 'it is the new one' test "$(rpm --query iotracer)" = "$(rpm --query --package second.rpm)"
must 'nothing else was changed' test "$(rpm --verify --nodeps iotracer)" = "S.5....T.  c $conf"
step_ended rpm_upgraded_under_load

must 'rpm --erase' rpm --erase iotracer
must_be_gone
must 'no unit is left' not systemctl cat iotracerd.service
must 'what the administrator wrote stays' grep -qx MaxUse=1G "$conf.rpmsave"
must 'rpm has forgotten it' not rpm --query iotracer
rm -rf /etc/iotracer /var/lib/iotracer /var/log/iotracer
step_ended rpm_removed
