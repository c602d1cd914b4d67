import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Scenes with the Java client's consumers of the classic protocol; one a run. */
public class Groups {
    static final long WAIT_MS = 60_000;
    static String address;
    static String topic;

    /** A consumer that is polled in turn with the others, and what happened to it. */
    static class Member {
        final Consumer<String, String> consumer;
        final List<String> read = new ArrayList<>();
        final TreeSet<Integer> revoked = new TreeSet<>();
        int rebalances = 0;

        Member(String group, String instance, String assignor) {
            Properties properties = new Properties();
            properties.put("bootstrap.servers", address);
            properties.put("group.id", group);
            properties.put("group.protocol", "classic");
            properties.put("auto.offset.reset", "earliest");
            properties.put("enable.auto.commit", "false");
            properties.put("session.timeout.ms", "6000");
            properties.put("heartbeat.interval.ms", "200");
            properties.put("metadata.max.age.ms", "500");
            properties.put("key.deserializer", StringDeserializer.class.getName());
            properties.put("value.deserializer", StringDeserializer.class.getName());
            properties.put(
                "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer." + assignor);
            if (instance != null) {
                properties.put("group.instance.id", instance);
            }
            consumer = new KafkaConsumer<>(properties);
            consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> given) {
                    rebalances += 1;
                }

                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> taken) {
                    taken.forEach(each -> revoked.add(each.partition()));
                }
            });
        }

        TreeSet<Integer> owned() {
            TreeSet<Integer> found = new TreeSet<>();
            consumer.assignment().forEach(each -> found.add(each.partition()));
            return found;
        }
    }

    static void pollUntil(String what, BooleanSupplier condition, Member... members) {
        long deadline = System.currentTimeMillis() + WAIT_MS;
        while (!condition.getAsBoolean()) {
            for (Member each : members) {
                for (ConsumerRecord<String, String> record :
                        each.consumer.poll(Duration.ofMillis(50))) {
                    each.read.add(record.value());
                }
            }
            check(System.currentTimeMillis() < deadline, "never: " + what);
        }
    }

    static boolean share(int partitions, Member... members) {
        TreeSet<Integer> owned = new TreeSet<>();
        int count = 0;
        for (Member each : members) {
            owned.addAll(each.owned());
            count += each.owned().size();
            if (each.owned().isEmpty()) {
                return false;
            }
        }
        return owned.size() == partitions && count == partitions;
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void produce(int first, int count) {
        Map<String, Object> options = Map.of(
            "bootstrap.servers", address,
            "key.serializer", StringSerializer.class.getName(),
            "value.serializer", StringSerializer.class.getName());
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(options)) {
            for (int number = first; number < first + count; number++) {
                producer.send(new ProducerRecord<>(topic, number % 4, null, "" + number));
            }
        }
    }

    static void joinCommitResume() {
        produce(0, 40);
        Member one = new Member("g-resume", null, "RangeAssignor");
        pollUntil("read", () -> one.read.size() == 40, one);
        one.consumer.commitSync();
        Member two = new Member("g-resume", null, "RangeAssignor");
        pollUntil("shared", () -> share(4, one, two), one, two);
        produce(40, 40);
        pollUntil("read by both", () -> one.read.size() + two.read.size() == 80, one, two);
        check(!two.read.isEmpty(), "the second one reads");
        two.consumer.commitSync();
        one.consumer.commitAsync();
        two.consumer.close();
        pollUntil("alone", () -> share(4, one), one);
        one.consumer.commitSync();
        one.consumer.close();
        produce(80, 20);
        Member three = new Member("g-resume", null, "RangeAssignor");
        pollUntil("resumed", () -> three.read.size() >= 20, three);
        check(three.read.size() == 20, "only what is new: " + three.read);
        TopicPartition first = new TopicPartition(topic, 0);
        three.consumer.commitSync(Map.of(first, new OffsetAndMetadata(3, "by hand")));
        OffsetAndMetadata found = three.consumer.committed(Set.of(first)).get(first);
        check(found.offset() == 3 && found.metadata().equals("by hand"), "" + found);
        three.consumer.seek(first, 20);
        three.read.clear();
        pollUntil("read again", () -> three.read.size() == 5, three);
        three.consumer.close();
    }

    static void staticMemberReturns() {
        produce(0, 40);
        Member one = new Member("g-static", "one", "RangeAssignor");
        Member two = new Member("g-static", "two", "RangeAssignor");
        pollUntil("shared", () -> share(4, one, two), one, two);
        int generation = one.consumer.groupMetadata().generationId();
        TreeSet<Integer> owned = two.owned();
        int rebalances = one.rebalances;
        two.consumer.close();
        Member again = new Member("g-static", "two", "RangeAssignor");
        pollUntil("the same", () -> again.owned().equals(owned), one, again);
        check(one.rebalances == rebalances, "the other one noticed");
        check(
            again.consumer.groupMetadata().generationId() == generation,
            "the generation is another one");
        again.consumer.close();
        one.consumer.close();
    }

    static void cooperative() {
        Member one = new Member("g-sticky", null, "CooperativeStickyAssignor");
        pollUntil("alone", () -> share(4, one), one);
        Member two = new Member("g-sticky", null, "CooperativeStickyAssignor");
        pollUntil("shared", () -> share(4, one, two), one, two);
        check(one.revoked.equals(two.owned()), "revoked " + one.revoked);
        two.consumer.close();
        pollUntil("alone again", () -> share(4, one), one);
        check(one.revoked.size() == 2, "nothing else was revoked");
        one.consumer.close();
    }

    public static void main(String[] arguments) {
        address = arguments[1];
        topic = arguments[2];
        switch (arguments[0]) {
            case "resume" -> joinCommitResume();
            case "static" -> staticMemberReturns();
            case "cooperative" -> cooperative();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println("all of it holds");
    }
}
