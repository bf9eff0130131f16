# The processes of the cluster: each runs in a session of its own and outlives the command that
# started it. Sourced.
# shellcheck shell=bash

# A file of $state/pid holds "PID BIRTH", so that a pid in use again is never taken for ours.
birth() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

pid_of() { # NAME: fails when it does not run any more
  local pid born
  read -r pid born 2>/dev/null <"$state/pid/$1" || return 1
  [[ -n $born && $(birth "$pid") == "$born" ]] && echo "$pid"
}

alive() { # NAME
  local pid
  pid=$(pid_of "$1") && [[ $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -c1) != Z ]]
}

start() { # NAME PROGRAM ARGUMENT...
  local name=$1; shift
  printf '%q ' "$@" >"$state/command/$name"
  setsid nohup "$@" >>"$logs/$name.log" 2>&1 </dev/null 9>&- &
  echo "$! $(birth $!)" >"$state/pid/$name"
}

start_again() { # NAME: with the arguments it had
  alive "$1" || eval "start $1 $(cat "$state/command/$1")"
}

stop() { # NAME [SIGNAL]: and waits until it has ended, ten seconds at most
  local pid try
  if ! pid=$(pid_of "$1"); then rm -f "$state/pid/$1"; return; fi
  kill -s "${2:-TERM}" "$pid" 2>/dev/null || true
  for ((try = 0; try < 100; try++)); do alive "$1" || break; sleep 0.1; done
  if alive "$1"; then kill -KILL "$pid" 2>/dev/null || true; sleep 0.2; fi
  rm -f "$state/pid/$1"
}

wait_for() { # SECONDS WHAT COMMAND...: until the command succeeds
  local tries=$(($1 * 10)) what=$2 try; shift 2
  for ((try = 0; try < tries; try++)); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
  die "waited in vain for $what; the logs are in $logs"
}

free_ports() { # COUNT: the first of so many free ports, below the range of outgoing connections
  local first port free
  while :; do
    first=$((20000 + RANDOM % 12000)) free=yes
    for ((port = first; port < first + $1; port++)); do
      (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && free=
    done
    if [[ $free ]]; then echo "$first"; return; fi
  done
}
