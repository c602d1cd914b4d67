#!/bin/sh
# Runs odradek as the apache/kafka image runs Kafka: options come from
# /mnt/shared/config/server.properties, or else from the image's own file, and from
# KAFKA_* in the environment, which is the stronger.
set -eu

shared=${ODRADEK_SHARED_CONFIG:-/mnt/shared/config/server.properties}
own=${ODRADEK_CONFIG:-/etc/odradek/server.properties}

if [ $# -eq 0 ]; then
    set -- serve
fi
if [ "$1" != serve ] && [ "$1" != health ]; then
    exec odradek "$@"
fi

# The image is made to be reached from outside of its container; who may reach it is
# for the network around it to say.
export KAFKA_ALLOW_UNAUTHENTICATED="${KAFKA_ALLOW_UNAUTHENTICATED:-true}"

if [ -f "$shared" ]; then
    file=$shared
else
    file=$own
    # As in the apache/kafka image, but only where nobody says otherwise: a listener
    # that is reached by a published port, and told as localhost.
    if [ -z "${KAFKA_LISTENERS:-}" ]; then
        export KAFKA_LISTENERS=PLAINTEXT://:9092
        if [ -z "${KAFKA_ADVERTISED_LISTENERS:-}" ]; then
            export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092
        fi
    fi
fi

command=$1
shift
if [ "$command" = health ]; then
    exec odradek health --config "$file" "$@"
fi
exec odradek serve --config "$file" "$@"
