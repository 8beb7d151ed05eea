#!/bin/sh
# Installs tamis and tamis-gateway for this user:
#
#   curl -fsSL https://git.example/tamis/tamis/releases/latest/download/install.sh | sh
#
# It downloads the archive for this system and its checksum, refuses to continue if they do not match, and moves both binaries into
# a folder. It changes no other file: not the PATH, no shell's configuration. To uninstall, delete the two files.
#
#   TAMIS_INSTALL_DIR   the folder (default: ~/.local/bin)
#   TAMIS_VERSION       a version such as 0.1.0 (default: the newest)
#   TAMIS_RELEASES      another place of the releases, such as a mirror: an address that ends before /latest/download and /download/vVERSION
#
# Needs a POSIX shell, curl or wget, tar and gzip, sed and tr, and sha256sum, shasum or openssl.
set -eu

# The next line is written by .ci/address.
address=https://git.example/tamis/tamis

say() {
    printf '%s\n' "$*" >&2
}

fail() {
    say "install.sh: $*"
    exit 1
}

has() {
    command -v "$1" > /dev/null 2>&1
}

# Whether a program is part of BusyBox. Its wget verifies certificates only by another program, the ssl_client of Alpine.
is_busybox() {
    "$1" --help < /dev/null 2>&1 | grep -q BusyBox
}

# Writes what an address has into a file. Only over HTTPS, unless the address says otherwise, also after redirections.
download() {
    if has curl; then
        case $1 in
        https://*) curl --proto '=https' --proto-redir '=https' --tlsv1.2 --retry 3 -fsSL -o "$2" "$1" ;;
        *) curl -fsSL -o "$2" "$1" ;;
        esac
    elif has wget; then
        download_with_wget "$1" "$2"
    else
        fail "neither curl nor wget is installed"
    fi || fail "$1 cannot be downloaded"
}

# wget has no option that keeps a redirection on HTTPS. It prints the headers of each response, and what came over HTTP is not used.
download_with_wget() {
    case $1 in
    https://*) ;;
    *)
        wget -q -O "$2" "$1"
        return
        ;;
    esac
    if is_busybox wget && { ! has ssl_client || is_busybox ssl_client; }; then
        fail "the wget of this BusyBox does not verify certificates; install curl"
    fi
    wget -S -O "$2" "$1" 2> "$2.headers" || {
        grep -v '^ ' "$2.headers" >&2
        return 1
    }
    # A location without a scheme is on the same server.
    if grep -iE '^ *location: *[a-z][a-z0-9+.-]*:' "$2.headers" | grep -qivE '^ *location: *https:'; then
        fail "$1 is redirected to an address without HTTPS; nothing was installed"
    fi
}

sha256() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    elif has openssl; then
        openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
    else
        fail "neither sha256sum, shasum nor openssl is installed, so the checksum cannot be verified"
    fi
}

find_target() {
    machine=$(uname -m)
    case $machine in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no archive for the processor $machine; build it with: cargo install tamis-cli tamis-gateway" ;;
    esac
    system=$(uname -s)
    case $system in
    Linux) printf '%s-unknown-linux-musl\n' "$machine" ;;
    Darwin)
        # A shell under Rosetta reports the other processor.
        if [ "$machine" = x86_64 ] && [ "$(sysctl -n sysctl.proc_translated 2> /dev/null || true)" = 1 ]; then
            machine=aarch64
        fi
        printf '%s-apple-darwin\n' "$machine"
        ;;
    MINGW* | MSYS* | CYGWIN* | Windows_NT)
        fail "on Windows, install with Scoop or winget, or unpack the .zip of $address/releases into a folder of the PATH"
        ;;
    *) fail "there is no archive for $system; build it with: cargo install tamis-cli tamis-gateway" ;;
    esac
}

# `tamis install` refuses programs in these places, because a command of a coding agent can write there.
check_folder() {
    case $1 in
    /*) ;;
    *) fail "TAMIS_INSTALL_DIR=$1: expected an absolute path" ;;
    esac
    case $1/ in
    */../* | */./*) fail "TAMIS_INSTALL_DIR=$1: expected a path without . and .." ;;
    esac
    place=$(without_slashes "$1")
    temporary=$(without_slashes "${TMPDIR:-/tmp}")
    case $place/ in
    /tmp/* | /var/tmp/* | /private/tmp/* | /dev/shm/* | "$temporary"/*)
        fail "$1 is a folder for temporary files; choose another with TAMIS_INSTALL_DIR"
        ;;
    */node_modules/* | */.cache/*) fail "$1 is a cache; choose another with TAMIS_INSTALL_DIR" ;;
    esac
}

# Prints a path without repeated slashes and one at its end.
without_slashes() {
    printf '%s\n' "$1" | tr -s / | sed 's|\(.\)/$|\1|'
}

main() {
    [ -n "${TAMIS_INSTALL_DIR:-}" ] || [ -n "${HOME:-}" ] || fail "HOME is not set; choose a folder with TAMIS_INSTALL_DIR"
    folder=${TAMIS_INSTALL_DIR:-$HOME/.local/bin}
    check_folder "$folder"
    has tar || fail "tar is not installed"
    target=$(find_target)
    releases=${TAMIS_RELEASES:-$address/releases}
    case ${TAMIS_VERSION:-} in
    '') from=$releases/latest/download ;;
    *[!0-9A-Za-z.-]*) fail "TAMIS_VERSION=$TAMIS_VERSION: expected a version such as 0.1.0" ;;
    *) from=$releases/download/v${TAMIS_VERSION#v} ;;
    esac

    work=$(mktemp -d)
    # In the folder, a file has a name of its own until it is complete.
    new=new.$$
    trap 'rm -rf "$work" "$folder/.tamis.$new" "$folder/.tamis-gateway.$new"' EXIT
    trap 'exit 1' HUP INT TERM
    download "$from/SHA256SUMS" "$work/SHA256SUMS"
    # One line: the checksum, two spaces, and tamis-VERSION-TARGET.tar.gz.
    line=$(grep -E "^[0-9a-f]{64}  tamis-[0-9A-Za-z.-]+-$target\.tar\.gz\$" "$work/SHA256SUMS" || true)
    [ -n "$line" ] || fail "this release has no archive for $target"
    wanted=${line%% *}
    archive=${line##* }
    # A mirror must not install another version than the one that was asked for.
    [ -z "${TAMIS_VERSION:-}" ] || [ "$archive" = "tamis-${TAMIS_VERSION#v}-$target.tar.gz" ] ||
        fail "$from has $archive, and not version $TAMIS_VERSION"
    say "downloading $from/$archive"
    download "$from/$archive" "$work/$archive"
    found=$(sha256 "$work/$archive")
    [ "$found" = "$wanted" ] || fail "the checksum of $archive is $found, expected $wanted; nothing was installed"
    (cd "$work" && tar -xzf "$archive") || fail "$archive cannot be unpacked"
    unpacked=$work/${archive%.tar.gz}

    # Only the user may replace the binaries, which coding agents start.
    umask go-w
    mkdir -p "$folder"
    # Where the links on the way lead to.
    check_folder "$(cd "$folder" && pwd -P)"
    # Archives for macOS may have no gateway.
    set -- tamis
    [ ! -f "$unpacked/tamis-gateway" ] || set -- tamis-gateway tamis
    for name in "$@"; do
        cp "$unpacked/$name" "$folder/.$name.$new" || fail "$name cannot be written into $folder; nothing was installed"
        chmod 755 "$folder/.$name.$new"
    done
    # Where it will be: programs in a folder for temporary files often may not be started.
    "$folder/.tamis.$new" --version > /dev/null ||
        fail "the tamis of $archive does not start in $folder: it is not for this system, or $folder is on a file system that is mounted with noexec; nothing was installed"
    for name in "$@"; do
        # A move within a folder replaces a file that is running, and never leaves half of one.
        mv -f "$folder/.$name.$new" "$folder/$name"
    done
    say "installed $("$folder/tamis" --version) in $folder"
    case :$PATH: in
    *":$folder:"*)
        first=$(command -v tamis || true)
        [ "$first" = "$folder/tamis" ] || say "another tamis comes first on the PATH: $first"
        ;;
    *) say "$folder is not on the PATH; add it in your shell's configuration: export PATH=\"$folder:\$PATH\"" ;;
    esac
    say "next: tamis install claude-code, or another agent; tamis --help lists all commands"
}

# Everything is a function until here, so that half of a download does nothing.
main
