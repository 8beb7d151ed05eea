#!/bin/sh
# Written by `tamis install claude-code`, removed by `tamis uninstall claude-code`.
# Filters the output of commands that Claude Code runs. Claude Code starts it with one argument: a script, or the command of a hook or server.
# Do not delete it by hand: while CLAUDE_CODE_SHELL_PREFIX names it, commands do not run without it.
tamis=@PROGRAM@
# A sandboxed command may have written what lies here. Hooks and servers are started outside of the sandbox.
temporary=${TMPDIR:-/dev/null}
for file in "$0" "$tamis"; do
  case $file in "$PWD"/* | "${temporary%/}"/*) tamis= ;; esac
done
if [ -f "$tamis" ]; then
  exec "$tamis" hook shell --config @CONFIG@ "$1"
fi
# Without tamis: the shell that Claude Code would have used.
case $1 in
  *" && pwd -P >| "*) ;;
  *) exec /bin/sh -c "$1" ;;
esac
script=$1
case $script in
  *"/snapshot-zsh-"*) shells=zsh ;;
  *"/snapshot-bash-"*) shells=bash ;;
  *) shells='zsh bash' ;;
esac
kind() {
  case ${1##*/} in *zsh*) kind=zsh ;; *bash*) kind=bash ;; *)
    case $1 in *zsh*) kind=zsh ;; *bash*) kind=bash ;; *) kind=none ;; esac ;;
  esac
}
try() { # a file and its kind
  case $shells in *"$2"*) [ -f "$1" ] && [ -x "$1" ] && exec "$1" -c "$script" ;; esac
}
search() { # a name in the PATH
  rest=${PATH-}:
  while [ -n "$rest" ]; do
    folder=${rest%%:*} rest=${rest#*:}
    case $folder/ in "$PWD"/* | "${temporary%/}"/*) ;; /*) try "$folder/$1" "$1" ;; esac
  done
}
for shell in "${CLAUDE_CODE_SHELL-}" "${SHELL-}"; do
  kind "$shell"
  case $shell in /*) try "$shell" "$kind" ;; esac
done
if [ "$kind" = bash ]; then first=bash second=zsh; else first=zsh second=bash; fi
search "$first"
for name in $first $second; do
  for folder in /bin /usr/bin /usr/local/bin /opt/homebrew/bin; do try "$folder/$name" "$name"; done
done
search "$second"
exec "${shells##* }" -c "$script"
