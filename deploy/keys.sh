#!/bin/sh
# Makes `.env` beside this file, once: passwords of the store's users, the keys of tokens and archive.
# Whoever has it can do everything; keep a copy where backups are not.
set -eu
umask 077
file=${1:-$(dirname "$0")/.env}
if [ -e "$file" ]; then
    echo "$0: $file exists; with other keys everybody would be signed out" >&2
    exit 1
fi
secret() {
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}
{
    for user in ADMIN SETUP BACKUP MATCHER GATEWAY OPERATOR ARCHIVER; do
        echo "STORE_PASSWORD_$user=$(secret)"
    done
    echo "PIT_TOKEN_KEYS=k1:$(secret)"
    echo "PIT_ARCHIVE_KEY=$(secret)"
    echo "GRAFANA_PASSWORD=$(secret)"
} > "$file"
