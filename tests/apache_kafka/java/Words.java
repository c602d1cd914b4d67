import java.nio.file.Path;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * An application of Kafka Streams that counts words, each of them exactly once.
 *
 * <p>Its arguments are the address of the broker, the id of the application, the topics that it
 * reads and writes, and a folder for its state. It runs until it is killed, or fails.
 */
public class Words {
    public static void main(String[] arguments) throws Exception {
        Properties options = new Properties();
        options.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        options.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        options.put(StreamsConfig.STATE_DIR_CONFIG, Path.of(arguments[4]).toString());
        options.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        options.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        options.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        options.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        options.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        options.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        // What a killed instance leaves open is aborted soon.
        options.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 3000);

        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[2])
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.as("words"))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream().mapValues(String::valueOf)
            .to(arguments[3], Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), options);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> {
            System.out.println(now);
            if (now == KafkaStreams.State.ERROR || now == KafkaStreams.State.NOT_RUNNING) {
                Runtime.getRuntime().halt(1);
            }
        });
        streams.start();
        Thread.currentThread().join();
    }
}
