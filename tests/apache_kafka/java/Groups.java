import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Scenes with the Java client's consumers, of either protocol. */
public class Groups extends Scenes {
    static final String RANGE = "RangeAssignor";
    static final Set<String> OF_CLASSIC = Set.of(
        "heartbeat.interval.ms", "partition.assignment.strategy", "session.timeout.ms");
    static String protocol = "classic";

    /** The same by the consumer protocol (KIP-848): the broker has the timeouts. */
    static Scene assigned(String name) {
        return () -> {
            protocol = "consumer";
            try {
                scene(name).play();
            } finally {
                protocol = "classic";
            }
        };
    }

    static Scene scene(String name) {
        return switch (name) {
            case "resume" -> Groups::joinCommitResume;
            case "static" -> Groups::staticMemberReturns;
            case "cooperative" -> Groups::cooperative;
            case "crash" -> Groups::memberCrashes;
            case "restart" -> () -> brokerRestarts();
            case "restart-unnoticed" -> () ->
                check(!brokerRestarts(), "the generation is another one");
            case "auto-commit" -> Groups::autoCommit;
            case "seek-pause" -> Groups::seekAndPause;
            case "migration" -> () -> membersChangeTheirProtocol(RANGE);
            case "migration-cooperative" ->
                () -> membersChangeTheirProtocol("CooperativeStickyAssignor");
            default -> throw new IllegalArgumentException(name);
        };
    }

    /** A consumer that is polled in turn with the others, and what happened to it. */
    static class Member {
        final Consumer<String, String> consumer;
        final List<String> read = new ArrayList<>();
        final TreeSet<Integer> revoked = new TreeSet<>();
        int rebalances = 0;

        Member(String group, String assignor, Map<String, String> more) {
            Map<String, Object> properties = new HashMap<>(Map.of(
                "bootstrap.servers", address,
                "group.id", group,
                "group.protocol", protocol,
                "auto.offset.reset", "earliest",
                "enable.auto.commit", "false",
                "heartbeat.interval.ms", "200",
                "metadata.max.age.ms", "500",
                "key.deserializer", StringDeserializer.class.getName(),
                "value.deserializer", StringDeserializer.class.getName(),
                "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer." + assignor));
            properties.put("session.timeout.ms", "45000"); // a busy machine is no crash
            properties.put("fetch.max.wait.ms", "50"); // closing waits for the last one
            properties.putAll(more);
            if (protocol.equals("consumer")) {
                properties.keySet().removeAll(OF_CLASSIC);
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

        void poll() {
            for (ConsumerRecord<String, String> record :
                    consumer.poll(Duration.ofMillis(50))) {
                read.add(record.value());
            }
        }
    }

    static void pollUntil(String what, BooleanSupplier condition, Member... members) {
        until(what, condition, () -> List.of(members).forEach(Member::poll));
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

    /** These numbers and no others, each once, in any order. */
    static void checkRead(List<String> read, IntStream numbers) {
        List<Integer> found = read.stream().map(Integer::valueOf).sorted().toList();
        check(found.equals(numbers.boxed().toList()), "read " + found);
    }

    static TopicPartition partition(int number) {
        return new TopicPartition(topic, number);
    }

    static Set<TopicPartition> partitions() {
        return Set.of(partition(0), partition(1), partition(2), partition(3));
    }

    /** The sum of the committed offsets of all partitions. */
    static long committed(Member member) {
        return member.consumer.committed(partitions()).values().stream()
            .mapToLong(each -> each == null ? 0 : each.offset()).sum();
    }

    static void joinCommitResume() {
        produce(0, 40);
        Member one = new Member("g-resume", RANGE, Map.of());
        pollUntil("read", () -> one.read.size() == 40, one);
        one.consumer.commitSync();
        Member two = new Member("g-resume", RANGE, Map.of());
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
        Member three = new Member("g-resume", RANGE, Map.of());
        pollUntil("resumed", () -> three.read.size() >= 20, three);
        checkRead(three.read, IntStream.range(80, 100));
        TopicPartition first = partition(0);
        three.consumer.commitSync(Map.of(first, new OffsetAndMetadata(3, "by hand")));
        OffsetAndMetadata found = three.consumer.committed(Set.of(first)).get(first);
        check(found.offset() == 3 && found.metadata().equals("by hand"), "" + found);
        three.consumer.close();
    }

    static void staticMemberReturns() {
        produce(0, 40);
        Member one = new Member("g-static", RANGE, Map.of("group.instance.id", "one"));
        Map<String, String> second = Map.of("group.instance.id", "two");
        Member two = new Member("g-static", RANGE, second);
        pollUntil("shared", () -> share(4, one, two), one, two);
        int generation = one.consumer.groupMetadata().generationId();
        TreeSet<Integer> owned = two.owned();
        int rebalances = one.rebalances;
        two.consumer.close();
        Member again = new Member("g-static", RANGE, second);
        pollUntil("the same", () -> again.owned().equals(owned), one, again);
        check(one.rebalances == rebalances, "the other one noticed");
        check(
            again.consumer.groupMetadata().generationId() == generation,
            "the generation is another one");
        again.consumer.close();
        one.consumer.close();
    }

    static void cooperative() {
        Member one = new Member("g-sticky", "CooperativeStickyAssignor", Map.of());
        pollUntil("alone", () -> share(4, one), one);
        Member two = new Member("g-sticky", "CooperativeStickyAssignor", Map.of());
        pollUntil("shared", () -> share(4, one, two), one, two);
        check(one.revoked.equals(two.owned()), "revoked " + one.revoked);
        two.consumer.close();
        pollUntil("alone again", () -> share(4, one), one);
        check(one.revoked.size() == 2, "nothing else was revoked");
        one.consumer.close();
    }

    /** One by one they are replaced by others, to the consumer protocol and back. */
    static void membersChangeTheirProtocol(String assignor) {
        String group = "g-migration-" + assignor;
        List<Member> members = new ArrayList<>();
        Set<String> read = new HashSet<>();
        int count = 0;
        try {
            for (String next : List.of(
                    "classic", "classic", "consumer", "consumer", "classic", "classic")) {
                protocol = next;
                members.add(new Member(group, assignor, Map.of()));
                if (members.size() > 2) {
                    count = readBehind(count, members, read);
                    commit(members.get(0), members);
                    members.remove(0).consumer.close();
                }
                count = readBehind(count, members, read);
            }
        } finally {
            protocol = "classic";
        }
        check(read.size() == count, "read " + read.size() + " of " + count);
        for (Member each : members) {
            commit(each, members);
        }
        check(committed(members.get(0)) == count, "all is committed");
        members.forEach(each -> each.consumer.close());
    }

    /** A rebalance that goes on is first brought to its end, by all of them. */
    static void commit(Member member, List<Member> members) {
        pollUntil("committed", () -> {
            try {
                member.consumer.commitSync();
                return true;
            } catch (RebalanceInProgressException underWay) {
                return false;
            }
        }, members.toArray(new Member[0]));
    }

    /** Produce some more while they share, and read all of it. */
    static int readBehind(int count, List<Member> members, Set<String> read) {
        Member[] all = members.toArray(new Member[0]);
        produce(count, 40);
        pollUntil("shared", () -> share(4, all), all);
        produce(count + 40, 40);
        pollUntil("read", () -> {
            members.forEach(each -> read.addAll(each.read));
            return read.size() >= count + 80;
        }, all);
        return count + 80;
    }

    static int distinct(Member member) {
        return new HashSet<>(member.read).size();
    }

    /** Its process is killed; the other one takes over, from what was committed. */
    static void memberCrashes() throws Exception {
        produce(0, 40);
        Member one = new Member("g-crash", RANGE, Map.of());
        pollUntil("alone", () -> distinct(one) == 40, one);
        one.consumer.commitSync();
        Process other = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx64M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-cp", System.getProperty("java.class.path"), "Groups", address, topic,
            protocol)
            .redirectError(new File("/dev/null")).start();
        try {
            pollUntil("shared", () -> one.owned().size() == 2, one);
            produce(40, 40);
            pollUntil("half is read here", () -> distinct(one) >= 60, one);
            long there = other.inputReader().lines().limit(20).count();
            check(there == 20, "read there: " + there);
        } finally {
            other.destroyForcibly().waitFor();
        }
        pollUntil("taken over", () -> distinct(one) == 80, one);
        check(share(4, one), "owned " + one.owned());
        one.consumer.commitSync();
        check(committed(one) == 80, "all is committed");
        one.consumer.close();
    }

    /** A member that says what it reads, commits nothing, and never leaves. */
    public static void main(String[] arguments) {
        address = arguments[0];
        topic = arguments[1];
        protocol = arguments[2];
        Member member =
            new Member("g-crash", RANGE, Map.of("session.timeout.ms", "2000"));
        pollUntil("killed", () -> {
            member.read.forEach(System.out::println);
            member.read.clear();
            return false;
        }, member);
    }

    /** The consumers go on. Returns whether they have rebalanced. */
    static boolean brokerRestarts() {
        // Else a client that reaches nobody forgets its topics, and joins anew.
        Map<String, String> patient = Map.of(
            "session.timeout.ms", "45000", "metadata.recovery.strategy", "none");
        Member one = new Member("g-restart", RANGE, patient);
        Member two = new Member("g-restart", RANGE, patient);
        pollUntil("shared", () -> share(4, one, two), one, two);
        produce(0, 40);
        pollUntil("read", () -> one.read.size() + two.read.size() == 40, one, two);
        one.consumer.commitSync();
        two.consumer.commitSync();
        int generation = one.consumer.groupMetadata().generationId();
        one.read.clear();
        two.read.clear();
        ask("restart");
        produce(40, 40);
        pollUntil("go on", () -> one.read.size() + two.read.size() >= 40, one, two);
        List<String> both = new ArrayList<>(one.read);
        both.addAll(two.read);
        checkRead(both, IntStream.range(40, 80));
        one.consumer.commitSync();
        two.consumer.commitSync();
        check(committed(one) == 80, "committed " + committed(one));
        int last = two.consumer.groupMetadata().generationId();
        one.consumer.close();
        two.consumer.close();
        return last != generation;
    }

    static void autoCommit() {
        produce(0, 20);
        Map<String, String> often =
            Map.of("enable.auto.commit", "true", "auto.commit.interval.ms", "100");
        Member one = new Member("g-auto", RANGE, often);
        pollUntil("committed", () -> committed(one) == 20, one);
        one.consumer.close();
        produce(20, 20);
        Map<String, String> hardly =
            Map.of("enable.auto.commit", "true", "auto.commit.interval.ms", "600000");
        Member two = new Member("g-auto", RANGE, hardly);
        pollUntil("read", () -> two.read.size() == 20, two);
        checkRead(two.read, IntStream.range(20, 40));
        check(committed(two) == 20, "committed before it was time");
        two.consumer.close();
        produce(40, 20);
        Member three = new Member("g-auto", RANGE, hardly);
        pollUntil("resumed", () -> three.read.size() >= 20, three);
        checkRead(three.read, IntStream.range(40, 60));
        three.consumer.close();
    }

    static void seekAndPause() {
        produce(0, 40);
        Member one = new Member("g-seek", RANGE, Map.of());
        pollUntil("read", () -> one.read.size() == 40, one);
        one.consumer.pause(Set.of(partition(0), partition(1)));
        one.read.clear();
        produce(40, 40);
        pollUntil("the others are read", () -> one.read.size() == 20, one);
        checkRead(one.read, IntStream.range(40, 80).filter(each -> each % 4 >= 2));
        one.consumer.resume(Set.of(partition(0)));
        pollUntil("one is resumed", () -> one.read.size() == 30, one);
        checkRead(one.read, IntStream.range(40, 80).filter(each -> each % 4 != 1));
        one.consumer.seek(partition(1), 20);
        one.consumer.resume(Set.of(partition(1)));
        one.consumer.seek(partition(2), 18);
        one.read.clear();
        pollUntil("read again", () -> one.read.size() == 2, one);
        checkRead(one.read, IntStream.of(74, 78));
        one.consumer.seekToBeginning(partitions());
        one.read.clear();
        pollUntil("all again", () -> one.read.size() == 80, one);
        one.consumer.seekToEnd(partitions());
        check(one.consumer.position(partition(3)) == 20, "at the end");
        one.consumer.commitSync();
        check(committed(one) == 80, "committed " + committed(one));
        one.consumer.close();
    }
}
