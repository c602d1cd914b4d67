import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Scenes with the Java client's share consumers. */
public class Shares extends Scenes {
    static Scene scene(String name) {
        return switch (name) {
            case "accept" -> Shares::eachRecordGoesToOne;
            case "release" -> Shares::releasedAndRejected;
            case "locks" -> Shares::locksEnd;
            case "renew" -> Shares::locksAreRenewed;
            case "close" -> Shares::whatIsClosedGivesBack;
            case "limit" -> Shares::exactlySoMany;
            case "aborted" -> Shares::abortedIsUnseen;
            case "moved" -> Shares::goesOnElsewhere;
            case "restart" -> Shares::acceptedNeverComesAgain;
            default -> throw new IllegalArgumentException(name);
        };
    }

    static KafkaProducer<String, String> producer(String... more) {
        Map<String, Object> properties = new HashMap<>(Map.of(
            "bootstrap.servers", address,
            "key.serializer", StringSerializer.class.getName(),
            "value.serializer", StringSerializer.class.getName()));
        for (int at = 0; at < more.length; at += 2) {
            properties.put(more[at], more[at + 1]);
        }
        return new KafkaProducer<>(properties);
    }

    static void write(int first, int last) throws Exception {
        try (KafkaProducer<String, String> producer = producer()) {
            for (int value = first; value <= last; value++) {
                producer.send(new ProducerRecord<>(topic, String.valueOf(value)));
            }
        }
    }

    static void option(String name, String value) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, topic);
            admin.incrementalAlterConfigs(Map.of(group, List.of(
                new AlterConfigOp(
                    new ConfigEntry(name, value), AlterConfigOp.OpType.SET))))
                .all().get();
        }
    }

    /** A member of the group that is named like the topic. */
    static class Member implements AutoCloseable {
        final KafkaShareConsumer<String, String> consumer;
        final List<ConsumerRecord<String, String>> held = new ArrayList<>();
        final Map<TopicIdPartition, Optional<KafkaException>> told = new HashMap<>();

        Member(String... more) {
            Map<String, Object> properties = new HashMap<>(Map.of(
                "bootstrap.servers", address,
                "group.id", topic,
                "share.acknowledgement.mode", "explicit",
                "key.deserializer", StringDeserializer.class.getName(),
                "value.deserializer", StringDeserializer.class.getName()));
            for (int at = 0; at < more.length; at += 2) {
                properties.put(more[at], more[at + 1]);
            }
            consumer = new KafkaShareConsumer<>(properties);
            consumer.subscribe(List.of(topic));
        }

        /**
         * Polls until there are so many that were not said anything of.
         *
         * <p>Each poll has something fetched, also when it returns without it: who gives
         * up after a moment is given records later, while nobody polls.
         */
        void hold(int count) {
            until("records", () -> held.size() >= count, () ->
                consumer.poll(Duration.ofMillis(WAIT_MS)).forEach(held::add));
        }

        Set<Integer> say(AcknowledgeType type) {
            Set<Integer> values = values();
            held.forEach(each -> consumer.acknowledge(each, type));
            held.clear();
            told.putAll(consumer.commitSync());
            return values;
        }

        Set<Integer> values() {
            return held.stream().map(each -> Integer.valueOf(each.value()))
                .collect(Collectors.toSet());
        }

        Set<Integer> counts() {
            return held.stream().map(each -> (int) each.deliveryCount().get())
                .collect(Collectors.toSet());
        }

        void checkTaken() {
            told.values().forEach(each ->
                check(each.isEmpty(), "refused: " + each.orElse(null)));
        }

        @Override
        public void close() {
            consumer.close();
        }
    }

    static Set<Integer> range(int first, int last) {
        return IntStream.rangeClosed(first, last).boxed().collect(Collectors.toSet());
    }

    static void eachRecordGoesToOne() throws Exception {
        option("share.auto.offset.reset", "earliest");
        write(0, 99);
        Map<Integer, Integer> seen = new TreeMap<>();
        try (Member one = new Member(); Member other = new Member()) {
            until("all", () -> seen.size() == 200, () -> {
                if (seen.size() == 100) {
                    write(100, 199);
                }
                for (Member each : List.of(one, other)) {
                    each.consumer.poll(Duration.ofMillis(50)).forEach(each.held::add);
                    each.say(AcknowledgeType.ACCEPT)
                        .forEach(value -> seen.merge(value, 1, Integer::sum));
                    each.checkTaken();
                }
            });
        }
        check(seen.values().stream().allMatch(count -> count == 1), "twice: " + seen);
    }

    static void releasedAndRejected() throws Exception {
        option("share.auto.offset.reset", "earliest");
        write(0, 9);
        try (Member member = new Member()) {
            member.hold(10);
            check(member.counts().equals(Set.of(1)), "counts " + member.counts());
            for (ConsumerRecord<String, String> each : List.copyOf(member.held)) {
                int value = Integer.parseInt(each.value());
                member.consumer.acknowledge(each, value < 3 ? AcknowledgeType.ACCEPT
                    : value < 6 ? AcknowledgeType.REJECT : AcknowledgeType.RELEASE);
            }
            member.held.clear();
            member.told.putAll(member.consumer.commitSync());
            member.hold(4);
            check(member.values().equals(range(6, 9)), "again " + member.values());
            check(member.counts().equals(Set.of(2)), "counts " + member.counts());
            member.say(AcknowledgeType.ACCEPT);
            member.checkTaken();
        }
    }

    /** Both read the only partition: with several each has its own. */
    static void locksEnd() throws Exception {
        option("share.auto.offset.reset", "earliest");
        option("share.record.lock.duration.ms", "1000");
        write(0, 4);
        try (Member slow = new Member(); Member other = new Member()) {
            slow.hold(5);
            other.hold(5);
            check(other.counts().equals(Set.of(2)), "counts " + other.counts());
            slow.say(AcknowledgeType.ACCEPT); // while the other has them, or nobody
            check(slow.told.values().stream().anyMatch(Optional::isPresent),
                "it was too late: " + slow.told);
        }
    }

    static void locksAreRenewed() throws Exception {
        option("share.auto.offset.reset", "earliest");
        option("share.record.lock.duration.ms", "3600000");
        write(0, 4);
        try (Member slow = new Member()) {
            slow.hold(5);
            for (int times = 0; times < 3; times++) {
                ask("later");
                slow.say(AcknowledgeType.RENEW);
                slow.checkTaken();
                until("renewed", () -> slow.held.size() == 5, () ->
                    slow.consumer.poll(Duration.ofMillis(10)).forEach(slow.held::add));
            }
            slow.say(AcknowledgeType.ACCEPT);
            slow.checkTaken();
        }
    }

    static void whatIsClosedGivesBack() throws Exception {
        option("share.auto.offset.reset", "earliest");
        write(0, 9);
        try (Member one = new Member()) {
            one.hold(10);
        }
        try (Member other = new Member()) {
            other.hold(10);
            check(other.counts().equals(Set.of(2)), "counts " + other.counts());
            other.say(AcknowledgeType.ACCEPT);
            other.checkTaken();
        }
    }

    static void exactlySoMany() throws Exception {
        option("share.auto.offset.reset", "earliest");
        write(0, 9);
        try (Member few = new Member(
                "max.poll.records", "3", "share.acquire.mode", "record_limit")) {
            Set<Integer> seen = new HashSet<>();
            while (seen.size() < 10) {
                few.hold(1);
                check(few.held.size() <= 3, "more than three: " + few.values());
                seen.addAll(few.say(AcknowledgeType.ACCEPT));
                few.checkTaken();
            }
        }
    }

    static void abortedIsUnseen() throws Exception {
        option("share.auto.offset.reset", "earliest");
        option("share.isolation.level", "read_committed");
        try (KafkaProducer<String, String> producer =
                producer("transactional.id", topic)) {
            producer.initTransactions();
            for (int value = 0; value < 6; value++) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, String.valueOf(value))).get();
                if (value % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
        try (Member member = new Member()) {
            Set<Integer> seen = new HashSet<>();
            while (seen.size() < 3) {
                member.hold(1);
                seen.addAll(member.say(AcknowledgeType.ACCEPT));
            }
            check(seen.equals(Set.of(0, 2, 4)), "seen " + seen);
            member.checkTaken();
        }
    }

    /** Whoever leads partition, group and states: others do so when that is asked for. */
    static void goesOnElsewhere() throws Exception {
        option("share.auto.offset.reset", "earliest");
        Set<Integer> accepted = new HashSet<>();
        try (Member member = new Member()) {
            int count = 0;
            for (String deed : List.of("", "away", "back", "killed", "again")) {
                if (!deed.isEmpty()) {
                    ask(deed);
                }
                writeToThree(count, count + 99);
                count += 100;
                int wanted = count;
                until("all", () -> accepted.size() == wanted, () -> accept(member, accepted));
            }
        }
    }

    private static void writeToThree(int first, int last) {
        try (KafkaProducer<String, String> producer = producer()) {
            for (int value = first; value <= last; value++) {
                producer.send(
                    new ProducerRecord<>(topic, value % 3, null, String.valueOf(value)));
            }
        }
    }

    /** What is accepted for good must never have been so before. */
    private static void accept(Member member, Set<Integer> accepted) {
        member.consumer.poll(Duration.ofMillis(200)).forEach(member.held::add);
        Map<TopicIdPartition, List<Integer>> held = new HashMap<>();
        for (ConsumerRecord<String, String> each : member.held) {
            int value = Integer.parseInt(each.value());
            check(!accepted.contains(value), value + " comes again");
            member.consumer.acknowledge(each, AcknowledgeType.ACCEPT);
            held.computeIfAbsent(
                new TopicIdPartition(Uuid.ZERO_UUID, each.partition(), topic),
                key -> new ArrayList<>()).add(value);
        }
        member.held.clear();
        member.consumer.commitSync().forEach((partition, error) -> {
            TopicIdPartition key = new TopicIdPartition(
                Uuid.ZERO_UUID, partition.partition(), topic);
            if (error.isEmpty()) {
                accepted.addAll(held.getOrDefault(key, List.of()));
            }
        });
    }

    static void acceptedNeverComesAgain() throws Exception {
        option("share.auto.offset.reset", "earliest");
        write(0, 19);
        Set<Integer> accepted = new HashSet<>();
        try (Member member = new Member(
                "max.poll.records", "5", "share.acquire.mode", "record_limit")) {
            member.hold(5);
            accepted.addAll(member.say(AcknowledgeType.ACCEPT));
            member.checkTaken();
            member.hold(3);
            ask("restart");
            member.say(AcknowledgeType.RELEASE); // nobody has them any more
            until("the rest", () -> accepted.size() == 20, () -> {
                member.consumer.poll(Duration.ofMillis(100)).forEach(member.held::add);
                member.told.clear();
                Set<Integer> more = member.say(AcknowledgeType.ACCEPT);
                if (member.told.values().stream().allMatch(Optional::isEmpty)) {
                    more.forEach(value ->
                        check(accepted.add(value), value + " came again"));
                }
            });
        }
    }
}
