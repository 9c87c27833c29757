#!/usr/bin/env bash
# Makes the secrets that deploy/compose.yaml and deploy/compose.kratos.yaml mount: deploy/compose/secrets.sh [folder]. Existing files stay.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$here/secrets}
# Containers read the files as their own users; the folder's permissions keep other users of the machine out.
mkdir -p -m 700 "$folder"
umask 022

if [[ ! -e $folder/secret ]]; then
    head -c 48 /dev/urandom | base64 -w 0 >"$folder/secret"
fi
if [[ ! -e $folder/redis-url ]]; then
    password=$(head -c 32 /dev/urandom | sha256sum | cut -c 1-64)
    hash=$(printf %s "$password" | sha256sum | cut -c 1-64)
    sed "s/PASSWORD_SHA256/$hash/" "$here/../redis/users.acl" >"$folder/redis-users"
    printf 'redis://sallyport:%s@redis:6379' "$password" >"$folder/redis-url"
fi
if [[ ! -e $folder/kratos.env ]]; then
    random() { head -c 32 /dev/urandom | sha256sum | cut -c 1-64; }
    printf 'SECRETS_COOKIE=%s\n' "$(random)" >"$folder/kratos.env"
    printf 'COOKIE_SECRET=%s\nCSRF_COOKIE_SECRET=%s\n' "$(random)" "$(random)" >"$folder/kratos-ui.env"
fi
echo "secrets are in $folder"
