import java.io.FileReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A scene with logins that end while records are written and read.
 *
 * <p>Its name is the path of a file with the options of the clients, and with
 * "logins": how often each of the two has to log in again.
 */
public class Logins extends Scenes {
    static final int PARTITIONS = 3;
    static final int UNREAD_MAX = 5000;
    static final byte[] PAYLOAD = new byte[200];

    final Properties options = new Properties();
    final AtomicLong written = new AtomicLong();
    final AtomicLong acked = new AtomicLong();
    final AtomicLong read = new AtomicLong();
    final AtomicReference<Throwable> failure = new AtomicReference<>();
    final double wanted;
    volatile boolean isWritten;
    volatile boolean hasReaderEnough;

    Logins(String path) throws Exception {
        try (FileReader file = new FileReader(path, StandardCharsets.UTF_8)) {
            options.load(file);
        }
        wanted = Double.parseDouble((String) options.remove("logins"));
        options.put("bootstrap.servers", address);
    }

    static Scene scene(String path) {
        return () -> new Logins(path).play();
    }

    void play() throws Exception {
        CompletableFuture<Void> reading = CompletableFuture.runAsync(this::consume);
        try {
            write();
        } catch (Throwable error) {
            failure.set(error);
            throw error;
        } finally {
            isWritten = true;
            reading.join();
        }
        check(failure.get() == null, "failed: " + failure);
        check(acked.get() == written.get(), "acknowledged: " + acked + " of " + written);
        check(read.get() == written.get(), "read: " + read + " of " + written);
    }

    void write() throws Exception {
        try (var producer = new KafkaProducer<byte[], byte[]>(
                options, new ByteArraySerializer(), new ByteArraySerializer())) {
            while (!(hasReaderEnough && logins(producer.metrics()) >= wanted)) {
                for (int count = 0; count < 1000; count++) {
                    send(producer, written.getAndIncrement());
                }
                while (written.get() - read.get() > UNREAD_MAX) {
                    check(failure.get() == null, "failed: " + failure);
                    Thread.sleep(1);
                }
                check(failure.get() == null, "failed: " + failure);
            }
        }
    }

    void send(KafkaProducer<byte[], byte[]> producer, long number) {
        byte[] key = Long.toString(number).getBytes(StandardCharsets.UTF_8);
        int partition = (int) (number % PARTITIONS);
        producer.send(new ProducerRecord<>(topic, partition, key, PAYLOAD), (at, error) -> {
            if (error == null) {
                acked.incrementAndGet();
            } else {
                failure.set(error);
            }
        });
    }

    void consume() {
        Properties more = new Properties();
        more.putAll(options);
        more.put("group.id", topic);
        more.put("auto.offset.reset", "earliest");
        long[] next = new long[PARTITIONS];
        for (int partition = 0; partition < PARTITIONS; partition++) {
            next[partition] = partition;
        }
        try (var consumer = new KafkaConsumer<byte[], byte[]>(
                more, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (failure.get() == null && !(isWritten && read.get() >= written.get())) {
                for (var record : consumer.poll(Duration.ofMillis(100))) {
                    note(record, next);
                }
                hasReaderEnough = logins(consumer.metrics()) >= wanted;
            }
            if (failure.get() == null) {
                var ends = consumer.endOffsets(consumer.assignment()).values();
                long count = ends.stream().mapToLong(Long::longValue).sum();
                check(count == written.get(), "in the logs: " + count + " of " + written);
            }
        } catch (Throwable error) {
            failure.compareAndSet(null, error);
        }
    }

    void note(ConsumerRecord<byte[], byte[]> record, long[] next) {
        long number = Long.parseLong(new String(record.key(), StandardCharsets.UTF_8));
        int partition = record.partition();
        check(number == next[partition], number + " in the place of " + next[partition]);
        next[partition] += PARTITIONS;
        read.incrementAndGet();
    }

    static double logins(Map<MetricName, ? extends Metric> metrics) {
        return metrics.entrySet().stream()
            .filter(each -> each.getKey().name().equals("successful-reauthentication-total"))
            .filter(each -> !each.getKey().tags().containsKey("node-id"))
            .mapToDouble(each -> (double) each.getValue().metricValue())
            .sum();
    }
}
