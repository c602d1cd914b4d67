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
case $1 in
# As Kafka's images do: testcontainers waits in a shell for its own script.
sh | bash | /*) exec "$@" ;;
esac
if [ "$1" != serve ] && [ "$1" != health ]; then
    exec odradek "$@"
fi

# The image is made to be reached from outside of its container; who may reach it is
# for the network around it to say. A secure one lets nobody in without a name, and
# tells its metrics inside of the container alone.
protocol=PLAINTEXT
case ${ODRADEK_SECURE:-} in
"" | 0 | [Nn][Oo] | [Ff][Aa][Ll][Ss][Ee])
    export KAFKA_ALLOW_UNAUTHENTICATED="${KAFKA_ALLOW_UNAUTHENTICATED:-true}"
    ;;
*)
    protocol=SASL_SSL
    export KAFKA_HTTP_LISTENER="${KAFKA_HTTP_LISTENER:-127.0.0.1:9404}"
    ;;
esac

file=$own
if [ -f "$shared" ]; then
    file=$shared
fi

# Where nobody says on what to listen, it is as in the apache/kafka image: on the ports
# that clients are told, or else on 9092, which is reached by a published port and told
# as localhost.
if [ -z "${KAFKA_LISTENERS:-}${KAFKA_CFG_LISTENERS:-}" ] &&
    ! grep -Eq '^[[:space:]]*listeners[[:space:]]*[=:]' "$file"; then
    told=${KAFKA_ADVERTISED_LISTENERS:-${KAFKA_CFG_ADVERTISED_LISTENERS:-}}
    if [ -n "$told" ]; then
        KAFKA_LISTENERS=$(printf %s "$told" | sed -E 's#://(\[[^]]*\]|[^:,]*):#://:#g')
        export KAFKA_LISTENERS
    else
        export KAFKA_LISTENERS=$protocol://:9092
        if [ "$file" = "$own" ]; then
            export KAFKA_ADVERTISED_LISTENERS=$protocol://localhost:9092
        fi
    fi
fi

command=$1
shift
if [ "$command" = health ]; then
    exec odradek health --config "$file" "$@"
fi

# Who waits for a broker often waits for what Kafka says: testcontainers in Java, Go and
# .NET for the first, in Python for one of the others.
id=${KAFKA_NODE_ID:-${KAFKA_BROKER_ID:-1}}
words="Transitioning from RECOVERY to RUNNING,[KafkaServer id=$id] started"
export KAFKA_READY_WORDS="${KAFKA_READY_WORDS-$words,Kafka Server started}"
exec odradek serve --config "$file" "$@"
