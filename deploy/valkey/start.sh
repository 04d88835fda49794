#!/bin/sh
# Becomes the store's server, with users whose passwords come from STORE_PASSWORD_<USER>.
# The users' file gets their hashes only, and nobody but the server may read it.
set -eu
umask 077
here=$(dirname "$0")
users=${STORE_USERS:-/run/valkey/users.acl}
cp "$here/users.acl" "$users.new"
for user in $(sed -n 's/^user \([a-z]*\) on .*/\1/p' "$here/users.acl"); do
    variable=STORE_PASSWORD_$(printf %s "$user" | tr '[:lower:]' '[:upper:]')
    eval "password=\${$variable:-}"
    if [ -z "$password" ]; then
        echo "$0: $variable is not set" >&2
        exit 2
    fi
    hash=$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)
    sed "s/#@$user@/#$hash/" "$users.new" > "$users.next"
    mv "$users.next" "$users.new"
    unset "$variable" password
done
mv "$users.new" "$users"
exec "${VALKEY_SERVER:-valkey-server}" "$here/valkey.conf" --aclfile "$users" "$@"
