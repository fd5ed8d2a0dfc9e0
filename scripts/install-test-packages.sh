#!/bin/sh
# Debian packages that some tests need: a PostgreSQL server for the ledger. Without them those tests
# are skipped. Does nothing when they are there, without root, or without apt-get.
set -eu

if ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
    echo "The PostgreSQL tests will be skipped: install the Debian package postgresql as root." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends postgresql > /dev/null
