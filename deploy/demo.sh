#!/usr/bin/env bash
# Builds the gateway and starts its demo: deploy/demo.sh [--port PORT] [--logs]
set -euo pipefail

# shellcheck source=deploy/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

sallyport_build_gateway curl
exec "$SALLYPORT_ROOT/.build/release/sallyport" demo "$@"
