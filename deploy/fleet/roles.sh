#!/bin/sh
# The database of a fleet and its two roles, on an empty PostgreSQL with pgvector. holdfast_owner owns the tables and
# takes `holdfast migrate`; holdfast_app serves, and can change no table. Run as a superuser, once:
#   OWNER_PASSWORD=… APP_PASSWORD=… sh deploy/fleet/roles.sh       # PGHOST, PGUSER and so on say where
# The image of PostgreSQL runs it at its first start.
set -eu
: "${OWNER_PASSWORD:?}" "${APP_PASSWORD:?}"
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-${PGUSER:-postgres}}" --dbname postgres <<'SQL'
\getenv owner OWNER_PASSWORD
\getenv app APP_PASSWORD
CREATE ROLE holdfast_owner LOGIN PASSWORD :'owner';
CREATE ROLE holdfast_app LOGIN PASSWORD :'app';
CREATE DATABASE holdfast OWNER holdfast_owner;
\connect holdfast
CREATE EXTENSION IF NOT EXISTS vector;
SQL
