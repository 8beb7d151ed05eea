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
case $1 in
  *"/snapshot-zsh-"*) name=zsh ;;
  *"/snapshot-bash-"*) name=bash ;;
  *) name= ;;
esac
for shell in "${CLAUDE_CODE_SHELL-}" "${SHELL-}"; do
  case $shell in
    /*/bash) [ "${name:-bash}" = bash ] && [ -x "$shell" ] && exec "$shell" -c "$1" ;;
    /*/zsh) [ "${name:-zsh}" = zsh ] && [ -x "$shell" ] && exec "$shell" -c "$1" ;;
  esac
done
exec "${name:-bash}" -c "$1"
