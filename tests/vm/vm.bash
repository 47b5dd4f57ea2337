# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What run, exec, shell and prepare share: the table of kernels, the payload disk, and booting a machine.
# Sourced by them, after they have set vm_dir.

readonly vm_dir
readonly cache=${IOTRACER_VM_CACHE:-/var/cache/iotracer-vm}
# The root partition is found by this identity: NVMe disks are numbered in the order in which they answer.
readonly disk_id=10712ace
readonly root_partuuid=$disk_id-01
# shellcheck disable=SC2034 # prepare and run use it
readonly unfetchable=3 # exit status of prepare
# shellcheck disable=SC2034 # run and exec tell their jobs
readonly scratch_disk=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_scratch # in the guest; blank, 256 MiB

# Everything that belongs to one call lives here and goes with it; machines still running are ended by their own pid.
work=$(mktemp -d "${TMPDIR:-/tmp}/iotracer-vm.XXXXXX")
readonly work
declare -A vm_pids=()

end_machines() {
    local pid
    for pid in "${!vm_pids[@]}"; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    rm -rf "$work"
}
trap end_machines EXIT

forget_machine() { # PID, once waited for
    unset "vm_pids[$1]"
}

die() {
    echo "${0##*/}: $*" >&2
    exit 2
}

# The comment at the head of the script that was called.
usage() {
    awk 'NR > 1 && !/^#/ { exit } NR > 1 && !/SPDX/ { sub(/^# ?/, ""); print }' "$0"
}

kernel_names() {
    awk '!/^#/ && NF { print $1 }' "$vm_dir/kernels"
}

require_kernel() { # NAME
    kernel_names | grep -qxF -- "$1" || die "no such kernel: $1 (there are: $(kernel_names | paste -sd' '))"
}

# One prepares at a time, whoever asks. A process of its own, as it is to stop at its first error.
prepare_kernel() { # NAME
    mkdir -p "$cache"
    flock "$cache/lock" "$vm_dir/prepare" "$1"
}

# stage_file SRC:DEST TREE
stage_file() {
    local src=${1%:*} dest=${1##*:}
    [[ $1 == *:/* && -e $src ]] || die "--add $1: not an existing SOURCE:/DESTINATION"
    [[ $dest != */ ]] || dest+=$(basename "$src")
    mkdir -p "$2$(dirname "$dest")"
    cp -aHT "$src" "$2$dest"
}

# stage_job TREE COMMAND [ARG...]: one argument is a line for the shell, several are run as they are
stage_job() {
    local tree=$1 line=$2
    shift
    [[ $# -eq 1 ]] || printf -v line '%q ' exec "$@"
    mkdir -p "$tree/opt/iotracer/vm"
    printf '#!/bin/bash\n%s\n' "$line" >"$tree/opt/iotracer/vm/job"
    chmod 755 "$tree/opt/iotracer/vm/job"
}

# The payload disk is a bare tar archive: made in no time, and the cached root disk need not be copied or changed.
make_payload() { # TREE FILE
    tar --create --directory="$1" --owner=0 --group=0 --sparse --file="$2" .
}

# With --icount a guest's clock counts its instructions: times repeat on a busy machine.
vm_icount=

# What a CPU has to be quick or safe, and an emulated one pays for: the kernel copies and clears memory byte by byte
# where that is said to be fast, walks one more level of page tables, switches SMAP off and on whenever it accesses the memory of a program,
# and saves registers of AVX whenever it changes tasks.
readonly slow_features=-erms,-fsrm,-la57,-smap,-smep,-umip,-avx,-xsave

# Emulation unless asked otherwise: within a virtual machine /dev/kvm may be there and yet boot nothing. One thread
# emulates both CPUs: with a thread for each, a CPU may go on seeing the breakpoint through which the kernel switches a
# tracepoint on or off after it has been taken away, and trap there for ever.
cpu_options() {
    if [[ -n $vm_icount ]]; then
        echo -accel tcg -icount shift=0,sleep=off -cpu max -smp 1
    elif [[ ${IOTRACER_VM_ACCEL:-tcg} == kvm ]]; then
        echo -accel kvm -cpu host -smp 2
    else
        echo -accel tcg,thread=single -cpu "max,$slow_features" -smp 2
    fi
}

disk_option() { # SERIAL FILE [OPTION]
    # qemu reads a comma in a name as the end of it, unless it is doubled.
    printf '%s\n' -drive "if=none,id=$1,format=raw,file=${2//,/,,}${3:+,$3}" -device "nvme,drive=$1,serial=$1"
}

# Emulated, a machine boots in half the time without these; none of them is seen by a tracer. The check of the timer
# fails, and the kernel with it, where the host is busy.
readonly quick_boot='mitigations=off nokaslr audit=0 nowatchdog random.trust_cpu=on clocksource=tsc tsc=reliable
    no_timer_check init_on_alloc=0 hardened_usercopy=off randomize_kstack_offset=off systemd.gpt_auto=0'
# A first process that crashes would stand still until the machine's time is over. Instead the machine ends, as it does not reboot.
readonly quick_end='systemd.crash_reboot=yes'

# Sets qemu_command. The root disk is shared by all machines: what a guest writes to it is kept apart, and forgotten.
compose_machine() { # KERNEL DIR APPEND...
    local kernel=$cache/kernels/$1 dir=$2 cpu disks
    shift 2
    truncate -s 256M "$dir/scratch.img"
    read -ra cpu < <(cpu_options)
    mapfile -t disks < <(
        disk_option root "$kernel/disk.img" snapshot=on
        disk_option scratch "$dir/scratch.img" cache=unsafe
        disk_option payload "$dir/payload.tar" readonly=on
    )
    qemu_command=(
        qemu-system-x86_64 "${cpu[@]}" -m 2048 -display none -nodefaults -no-user-config -no-reboot
        -kernel "$kernel/vmlinuz" "${disks[@]}"
        -append "root=PARTUUID=$root_partuuid rootwait rw console=ttyS0 panic=-1 loglevel=5 ${quick_boot//$'\n'/} $quick_end $*"
    )
}

# start_machine KERNEL DIR TIMEOUT: boots what DIR/payload.tar holds and runs its job; sets vm_pid.
# Leaves in DIR: console, output (of the job), status (of the job; empty when the machine did not live to tell).
start_machine() {
    compose_machine "$1" "$2" vm.job systemd.getty_auto=no systemd.show_status=no
    timeout -k 10 "$3" "${qemu_command[@]}" \
        -serial "file:$2/console" -serial "file:$2/output" -serial "file:$2/status" \
        </dev/null >"$2/qemu" 2>&1 &
    vm_pid=$!
    vm_pids[$vm_pid]=running
}

# Why a machine ended without telling its job's status.
cause_of_death() { # DIR QEMU_STATUS TIMEOUT
    if [[ $2 -eq 124 || $2 -eq 137 ]]; then
        echo "still running after $3 s, killed"
    elif grep -q 'Kernel panic' "$1/console"; then
        echo "the kernel panicked"
    else
        echo "powered off or died before the end (qemu: exit status $2)"
    fi
}

console_tail() { # DIR
    tail -n 60 "$1/console" | tr -d '\r'
    tail -n 5 "$1/qemu"
}

# Options that exec and shell have in common. Sets tree and operands.
parse_options() {
    tree=$work/tree
    mkdir "$tree"
    while [[ ${1-} == -* ]]; do
        case $1 in
        --add) stage_file "${2-}" "$tree" && shift ;;
        --icount) vm_icount=yes ;;
        --help) usage && exit 0 ;;
        *) die "unknown option: $1 (see --help)" ;;
        esac
        shift
    done
    # shellcheck disable=SC2034 # what the callers go on with
    operands=("$@")
}
