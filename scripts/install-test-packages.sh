#!/bin/sh
# Debian packages that some tests need: a PostgreSQL server for the ledger, a browser for pages.
# Without them those tests are skipped. Does nothing for what is there, without root, or without
# apt-get.
set -eu

missing=""
ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || missing="postgresql"
command -v chromium > /dev/null || missing="$missing chromium"
if [ -z "$missing" ]; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
    echo "Some tests will be skipped: install as root, with apt-get:" $missing >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{
    apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing
} > /dev/null 2>&1 || echo "Some tests will be skipped: apt-get could not install:" $missing >&2
