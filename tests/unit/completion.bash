#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What bash, zsh and fish offer behind the beginning of a line, with a client that knows two sessions, and one whose
# daemon does not run. A shell that is not installed is left out, and told.
# Usage: completion.bash FOLDER, where the completions are
set -u

made=$1
work=$(mktemp -d)
failures=0
trap 'rm -rf "$work"' EXIT
PATH=$work:$PATH

cat >"$work/iotracectl" <<'CLIENT'
#!/bin/sh
case "$*" in
"list --json" | "--socket /there list --json" | "--socket=/there list --json")
    echo '{"sessions":[{"name":"alpha","state":"running","output":"/none/trace 1","streams":{}},'\
'{"name":"beta-2","state":"starting","output":"/none/t2"}]}'
    ;;
*)
    echo "iotracectl: cannot reach the daemon" >&2
    exit 3
    ;;
esac
CLIENT
chmod +x "$work/iotracectl"

# Each prints the words offered behind LINE, one a line.

offers_of_bash() { # LINE
    LINE=$1 bash --norc -c '
        load() { . "$1"; } # within a function, as bash-completion does it
        load "$1/iotracectl"
        compopt() { true; } # which wants a terminal
        read -ra COMP_WORDS <<<"${LINE//=/ = }"
        [[ $LINE != *[\ =] ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _iotracectl
        [[ ${#COMPREPLY[@]} -eq 0 ]] || printf "%s\n" "${COMPREPLY[@]}"' - "$made"
}

offers_of_fish() { # LINE
    HOME=$work fish --no-config -c "source '$made/iotracectl.fish'; complete -C '$1'" | cut -f 1
}

# A terminal of its own is asked, as completion in zsh runs nowhere else; every match it would insert is printed.
offers_of_zsh() { # LINE
    LINE=$1 MADE=$made zsh -f -c '
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell "PS1= ; fpath=(\"\$MADE\" \$fpath); autoload -U compinit; compinit -u -D
            zstyle \":completion:*\" completer _complete
            compadd() {
                local -a out given=(\"\$@\")
                if [[ \${@[(r)-[OAD]]-} ]]; then builtin compadd \"\$@\"; return; fi
                builtin compadd -O out \"\$@\"
                (( \$#out )) && print -rl -- \$out >>\$WORK/offered
                builtin compadd \"\$@\"
            }
            shown() { zle complete-word; print done >\$WORK/done; }
            zle -N shown; zle -C complete-word complete-word _main_complete; bindkey \"^I\" shown"
        zpty -w shell "print READY >\$WORK/ready"
        for try in {1..600}; do [[ -e $WORK/ready ]] && break; sleep 0.05; done
        zpty -n -w shell "$LINE"$'"'\\t'"'
        for try in {1..600}; do [[ -e $WORK/done ]] && break; sleep 0.05; done
        zpty -d shell'
    [[ ! -e $work/offered ]] || cat "$work/offered"
    rm -f "$work/offered" "$work/ready" "$work/done"
}
export WORK=$work

# check SHELL LINE WORD...: offers all of the words, and none that begins with "no:".
check() {
    local shell=$1 line=$2 offered word
    shift 2
    offered=$("offers_of_$shell" "$line" 2>"$work/err")
    for word in "$@"; do
        if [[ $word == no:* ]] && grep -qxF -- "${word#no:}" <<<"$offered"; then
            echo "FAILED: $shell offers '${word#no:}' behind '$line'"
            failures=$((failures + 1))
        elif [[ $word != no:* ]] && ! grep -qxF -- "$word" <<<"$offered"; then
            echo "FAILED: $shell does not offer '$word' behind '$line', but: ${offered//$'\n'/ }"
            failures=$((failures + 1))
        fi
    done
    [[ ! -s $work/err ]] || { echo "FAILED: $shell behind '$line' says:" && cat "$work/err" && failures=$((failures + 1)); }
}

# An option's list is written as the shell has it: bash and fish replace the whole word, zsh its last part.
check_shell() { # SHELL
    local list=vfs,
    [[ $1 != zsh ]] || list=
    check "$1" 'iotracectl st' start stop status no:list
    check "$1" 'iotracectl stop ' alpha beta-2
    check "$1" 'iotracectl --socket /there stop ' alpha
    check "$1" 'iotracectl --socket /nowhere stop ' no:alpha
    check "$1" 'iotracectl start ' no:alpha
    check "$1" 'iotracectl start --vf' --vfs
    check "$1" 'iotracectl stop --' --all no:--vfs
    check "$1" 'iotracectl start --compress ' gzip none
    check "$1" 'iotracectl tail --stream vfs,bl' "${list}block"
    check "$1" 'iotracectl start --operation vfs,FDATA' "${list}FDATASYNC"
    check "$1" 'iotracectl start --operation vfs.FDATA' vfs.FDATASYNC
    check "$1" 'iotracectl set alpha --clear min' min-size min-latency
    check "$1" 'iotracectl verify /none/t' /none/t2 '/none/trace 1'
    check "$1" 'iotracectl snapshot ' process beta-2
    check "$1" 'iotracectl help ver' verify version
    check "$1" 'iotracectl amplification --b' --by
    check "$1" 'iotracectl amplification unlin' no:unlink
    check "$1" 'iotracectl amplification --by process -- unlin' unlink
    check "$1" 'iotracectl record --vfs -- unlin' unlink
}

checked=0
for shell in bash zsh fish; do
    if command -v "$shell" >/dev/null; then
        check_shell "$shell"
        checked=$((checked + 1))
    else
        echo "left out: there is no $shell"
    fi
done
[[ $failures -eq 0 && $checked -gt 0 ]]
