#!/usr/bin/env bash
# Builds the gateway and starts its demo: deploy/demo.sh [--port PORT] [--logs]
set -euo pipefail

# shellcheck source=deploy/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

sallyport_build_gateway curl
# The gateway refuses variables that it does not know.
exec env -u SALLYPORT_PLAIN "$SALLYPORT_ROOT/.build/release/sallyport" demo "$@"
