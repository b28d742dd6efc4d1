#!/usr/bin/env bash
# test-monitoring.sh STEPLINE: the alert rules by promtool, and every query of the dashboard against a real Prometheus that
# scrapes a training and reports. Needs prometheus, promtool (Debian: prometheus, installed here where this runs as root) and a
# Python with torch. About a minute.
set -uo pipefail
cd "$(dirname "$0")/.."
if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "monitoring: skipped: prometheus and promtool are not here (Debian: apt-get install prometheus, as root)"
    exit 0
  fi
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends prometheus; } >&2 </dev/null ||
    { echo "monitoring: Debian's prometheus could not be installed" >&2; exit 1; }
fi
STEPLINE_MONITORING=$1 go test -count=1 -timeout 4m ./monitoring
