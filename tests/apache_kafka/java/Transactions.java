import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Scenes with the Java client's transactional producer. */
public class Transactions extends Scenes {
    static final Duration SOON = Duration.ofMillis(50);
    static final String COMMITTED = "read_committed";
    static final String UNCOMMITTED = "read_uncommitted";

    static Scene scene(String name) {
        return switch (name) {
            case "commit-abort" -> Transactions::commitAndAbort;
            case "interleaved" -> Transactions::interleaved;
            case "many" -> Transactions::manyInARow;
            case "transform" -> Transactions::consumeTransformProduce;
            case "stale-member" -> Transactions::staleMember;
            case "fencing" -> Transactions::fencing;
            case "timeout" -> Transactions::timeout;
            case "error" -> Transactions::error;
            case "deleted-topic" -> Transactions::deletedTopic;
            case "restart" -> Transactions::brokerRestarts;
            case "exactly-once" -> Transactions::exactlyOnce;
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Producer<String, String> producer(String id, String... options) {
        Map<String, Object> properties = new HashMap<>(Map.of(
            "bootstrap.servers", address,
            "transactional.id", topic + "-" + id,
            "key.serializer", StringSerializer.class.getName(),
            "value.serializer", StringSerializer.class.getName()));
        for (int place = 0; place < options.length; place += 2) {
            properties.put(options[place], options[place + 1]);
        }
        Producer<String, String> made = new KafkaProducer<>(properties);
        made.initTransactions();
        return made;
    }

    static Consumer<String, String> consumer(String isolation, String... options) {
        Map<String, Object> properties = new HashMap<>(Map.of(
            "bootstrap.servers", address,
            "isolation.level", isolation,
            "fetch.max.wait.ms", "20", // closing waits for the last fetch
            "auto.offset.reset", "earliest",
            "enable.auto.commit", "false",
            "key.deserializer", StringDeserializer.class.getName(),
            "value.deserializer", StringDeserializer.class.getName()));
        for (int place = 0; place < options.length; place += 2) {
            properties.put(options[place], options[place + 1]);
        }
        return new KafkaConsumer<>(properties);
    }

    static void createTopic(String name, Map<String, String> options) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            NewTopic wanted = new NewTopic(name, 4, (short) 1).configs(options);
            admin.createTopics(List.of(wanted)).all().get();
        }
    }

    static void send(Producer<String, String> producer, int first, int count) {
        for (int number = first; number < first + count; number++) {
            producer.send(new ProducerRecord<>(topic, number % 4, null, "" + number));
        }
        producer.flush();
    }

    static void begin(Producer<String, String> producer, int first, int count) {
        producer.beginTransaction();
        send(producer, first, count);
    }

    static List<TopicPartition> partitions(String name) {
        return IntStream.range(0, 4).mapToObj(each -> new TopicPartition(name, each))
            .toList();
    }

    static long sum(Collection<Long> offsets) {
        return offsets.stream().mapToLong(Long::longValue).sum();
    }

    /** All that can be read now. */
    static List<String> read(String isolation, String name) {
        List<String> found = new ArrayList<>();
        try (Consumer<String, String> consumer = consumer(isolation)) {
            consumer.assign(partitions(name));
            consumer.seekToBeginning(partitions(name));
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions(name));
            until(
                "at the end",
                () -> ends.entrySet().stream().allMatch(
                    end -> consumer.position(end.getKey()) >= end.getValue()),
                () -> {
                    for (ConsumerRecord<String, String> each : consumer.poll(SOON)) {
                        found.add(each.value());
                    }
                });
        }
        return found;
    }

    static List<Integer> numbers(List<String> values) {
        return values.stream().map(Integer::valueOf).sorted().toList();
    }

    static List<Integer> numbers(int first, int count) {
        return IntStream.range(first, first + count).boxed().toList();
    }

    static void checkRead(String isolation, List<Integer> expected) {
        List<Integer> found = numbers(read(isolation, topic));
        check(found.equals(expected), isolation + " " + found);
    }

    /** A transaction counts as ended before its markers are written. */
    static void untilCommitted(List<Integer> expected) {
        List<List<Integer>> last = new ArrayList<>(List.of(List.of(-1)));
        until(
            "committed: " + expected,
            () -> last.get(0).equals(expected),
            () -> last.set(0, numbers(read(COMMITTED, topic))));
    }

    /** Every transaction of the topic has ended. */
    static void untilStable() {
        try (Consumer<String, String> one = consumer(COMMITTED);
                Consumer<String, String> two = consumer(UNCOMMITTED)) {
            List<TopicPartition> all = partitions(topic);
            until(
                "stable", () -> one.endOffsets(all).equals(two.endOffsets(all)), () -> { });
        }
    }

    static void commitAndAbort() {
        Producer<String, String> producer = producer("a");
        begin(producer, 0, 8);
        checkRead(COMMITTED, List.of());
        checkRead(UNCOMMITTED, numbers(0, 8));
        producer.commitTransaction();
        untilCommitted(numbers(0, 8));
        begin(producer, 8, 8);
        producer.abortTransaction();
        untilStable();
        checkRead(COMMITTED, numbers(0, 8));
        checkRead(UNCOMMITTED, numbers(0, 16));
        producer.beginTransaction();
        producer.commitTransaction();
        producer.beginTransaction();
        producer.abortTransaction();
        begin(producer, 16, 1);
        producer.commitTransaction();
        untilStable();
        checkRead(COMMITTED, Stream.concat(
            numbers(0, 8).stream(), Stream.of(16)).toList());
        try (Consumer<String, String> consumer = consumer(COMMITTED)) {
            long end = sum(consumer.endOffsets(partitions(topic)).values());
            check(end == 17 + 4 + 4 + 1, "with the markers it is " + end);
        }
        producer.close();
    }

    /** What one producer has committed stays hidden behind what another one has open. */
    static void interleaved() {
        Producer<String, String> one = producer("a");
        Producer<String, String> two = producer("b");
        begin(one, 0, 4);
        begin(two, 4, 4);
        two.commitTransaction();
        begin(two, 8, 4);
        checkRead(COMMITTED, List.of());
        one.abortTransaction();
        untilCommitted(numbers(4, 4));
        two.commitTransaction();
        untilCommitted(numbers(4, 8));
        one.close();
        two.close();
    }

    static void manyInARow() {
        Producer<String, String> producer = producer("a");
        List<Integer> expected = new ArrayList<>();
        for (int number = 0; number < 60; number++) {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, number % 4, null, "" + number));
            if (number % 3 == 0) {
                producer.flush();
                producer.abortTransaction();
            } else {
                producer.commitTransaction();
                expected.add(number);
            }
        }
        untilCommitted(expected);
        producer.close();
    }

    static Map<TopicPartition, OffsetAndMetadata> positions(Consumer<?, ?> consumer) {
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
        for (TopicPartition each : consumer.assignment()) {
            found.put(each, new OffsetAndMetadata(consumer.position(each)));
        }
        return found;
    }

    static long committedSum(Consumer<?, ?> consumer) {
        return consumer.committed(Set.copyOf(partitions(topic))).values().stream()
            .mapToLong(each -> each == null ? 0 : each.offset()).sum();
    }

    /** Without waiting for what a transaction may still commit, as consumers do. */
    static Map<TopicPartition, OffsetAndMetadata> committedNow(String group)
            throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            return admin.listConsumerGroupOffsets(group)
                .partitionsToOffsetAndMetadata().get();
        }
    }

    /** The first round is aborted; each record is in the output once. */
    static void consumeTransformProduce() throws Exception {
        String output = topic + "-out";
        createTopic(output, Map.of());
        Producer<String, String> source = producer("source");
        begin(source, 0, 20);
        source.commitTransaction();
        begin(source, 20, 20);
        source.abortTransaction();
        begin(source, 40, 20);
        source.commitTransaction();
        source.close();
        String group = "g-" + topic;
        Consumer<String, String> input = consumer(COMMITTED, "group.id", group);
        Consumer<String, String> other = consumer(COMMITTED, "group.id", group);
        Producer<String, String> producer = producer("worker");
        input.subscribe(List.of(topic));
        List<String> handled = new ArrayList<>();
        boolean[] isFirst = {true};
        until("all is handled", () -> handled.size() == 40, () -> {
            List<String> values = new ArrayList<>();
            input.poll(SOON).forEach(each -> values.add(each.value()));
            if (values.isEmpty()) {
                return;
            }
            producer.beginTransaction();
            values.forEach(each -> producer.send(
                new ProducerRecord<>(output, Integer.parseInt(each) % 4, null, each)));
            producer.sendOffsetsToTransaction(positions(input), input.groupMetadata());
            if (isFirst[0]) {
                isFirst[0] = false;
                check(committedNow(group).isEmpty(), "nothing is committed yet");
                fails(TimeoutException.class, () -> other.committed(
                    Set.copyOf(partitions(topic)), Duration.ofMillis(300)));
                producer.abortTransaction();
                check(committedSum(other) == 0, "nothing is committed");
                input.seekToBeginning(input.assignment());
            } else {
                producer.commitTransaction();
                handled.addAll(values);
            }
        });
        // The marker of its last transaction is behind the last record.
        long expected = positions(input).values().stream()
            .mapToLong(OffsetAndMetadata::offset).sum();
        check(committedSum(other) == expected, "committed " + committedSum(other));
        List<Integer> both = Stream.concat(
            numbers(0, 20).stream(), numbers(40, 20).stream()).toList();
        check(numbers(handled).equals(both), "handled " + handled);
        List<Integer> made = new ArrayList<>();
        until("all is there", () -> made.size() == 40, () -> {
            made.clear();
            made.addAll(numbers(read(COMMITTED, output)));
        });
        check(made.equals(both), "made " + made);
        input.close();
        other.close();
        producer.close();
    }

    /** Offsets of a member that is none, or of another generation, are refused. */
    static void staleMember() {
        String group = "g-" + topic;
        Consumer<String, String> input = consumer(COMMITTED, "group.id", group);
        input.subscribe(List.of(topic));
        until("joined", () -> input.assignment().size() == 4, () -> input.poll(SOON));
        ConsumerGroupMetadata now = input.groupMetadata();
        Producer<String, String> producer = producer("a");
        Map<TopicPartition, OffsetAndMetadata> offsets =
            Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(7));
        List<ConsumerGroupMetadata> stale = List.of(
            new ConsumerGroupMetadata(
                group, now.generationId() + 1, now.memberId(), Optional.empty()),
            new ConsumerGroupMetadata(
                group, now.generationId(), "nobody", Optional.empty()));
        for (ConsumerGroupMetadata each : stale) {
            begin(producer, 0, 4);
            fails(
                CommitFailedException.class,
                () -> producer.sendOffsetsToTransaction(offsets, each));
            producer.abortTransaction();
        }
        check(committedSum(input) == 0, "committed");
        begin(producer, 4, 4);
        producer.sendOffsetsToTransaction(offsets, now);
        producer.commitTransaction();
        check(committedSum(input) == 7, "not committed: " + committedSum(input));
        untilCommitted(numbers(4, 4));
        producer.close();
        input.close();
    }

    /** The last one to take the name is the producer; what the others began is gone. */
    static void fencing() {
        Producer<String, String> one = producer("a");
        begin(one, 0, 4);
        Producer<String, String> two = producer("a");
        checkRead(COMMITTED, List.of());
        begin(two, 4, 4);
        fails(ProducerFencedException.class, one::commitTransaction);
        two.commitTransaction();
        untilCommitted(numbers(4, 4));
        Producer<String, String> three = producer("a");
        two.beginTransaction();
        Future<RecordMetadata> late =
            two.send(new ProducerRecord<>(topic, 0, null, "100"));
        fails(KafkaException.class, two::commitTransaction);
        fails(ExecutionException.class, late::get);
        begin(three, 8, 4);
        three.commitTransaction();
        untilCommitted(numbers(4, 8));
        checkRead(UNCOMMITTED, numbers(0, 12));
        for (Producer<String, String> each : List.of(one, two, three)) {
            each.close();
        }
    }

    /** One that takes too long is aborted; the producer may begin anew. */
    static void timeout() {
        Producer<String, String> producer =
            producer("a", "transaction.timeout.ms", "1000");
        begin(producer, 0, 4);
        checkRead(COMMITTED, List.of());
        untilStable();
        checkRead(COMMITTED, List.of());
        fails(KafkaException.class, producer::commitTransaction);
        producer.close();
        Producer<String, String> again = producer("a");
        begin(again, 4, 4);
        again.commitTransaction();
        untilCommitted(numbers(4, 4));
        again.close();
    }

    /** A record is refused: the transaction can only be aborted, then all is well. */
    static void error() throws Exception {
        String small = topic + "-small";
        createTopic(small, Map.of("max.message.bytes", "1000"));
        Producer<String, String> producer = producer("a");
        begin(producer, 0, 4);
        Future<RecordMetadata> large =
            producer.send(new ProducerRecord<>(small, 0, null, "x".repeat(2000)));
        fails(KafkaException.class, producer::commitTransaction);
        Throwable why = fails(ExecutionException.class, large::get).getCause();
        check(why instanceof RecordTooLargeException, "" + why);
        producer.abortTransaction();
        begin(producer, 4, 4);
        producer.send(new ProducerRecord<>(small, 0, null, "x"));
        producer.commitTransaction();
        untilCommitted(numbers(4, 4));
        producer.close();
        check(read(COMMITTED, small).equals(List.of("x")), "the small one");
    }

    /** What is gone needs no marker: the rest of the transaction is committed. */
    static void deletedTopic() throws Exception {
        String gone = topic + "-gone";
        createTopic(gone, Map.of());
        Producer<String, String> producer = producer("a");
        begin(producer, 0, 4);
        producer.send(new ProducerRecord<>(gone, 0, null, "x")).get();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            admin.deleteTopics(List.of(gone)).all().get();
        }
        producer.commitTransaction();
        untilCommitted(numbers(0, 4));
        begin(producer, 4, 4);
        producer.commitTransaction();
        untilCommitted(numbers(0, 8));
        producer.close();
    }

    /** Killed while transactions are open: they go on to their end. */
    static void brokerRestarts() {
        String group = "g-" + topic;
        Producer<String, String> one = producer("a");
        Producer<String, String> two = producer("b");
        Consumer<String, String> reader = consumer(COMMITTED, "group.id", group);
        Map<TopicPartition, OffsetAndMetadata> offsets =
            Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(7));
        begin(one, 0, 4);
        one.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(group));
        begin(two, 4, 4);
        ask("restart");
        checkRead(COMMITTED, List.of());
        send(one, 8, 4);
        one.commitTransaction();
        two.abortTransaction();
        List<Integer> expected = Stream.concat(
            numbers(0, 4).stream(), numbers(8, 4).stream()).toList();
        untilCommitted(expected);
        check(committedSum(reader) == 7, "committed " + committedSum(reader));
        begin(two, 12, 4);
        two.commitTransaction();
        ask("restart");
        Producer<String, String> after = producer("a");
        begin(after, 16, 4);
        after.commitTransaction();
        untilCommitted(Stream.concat(
            expected.stream(), numbers(12, 8).stream()).toList());
        for (Producer<String, String> each : List.of(one, two, after)) {
            each.close();
        }
        reader.close();
    }

    /** The broker is killed again and again; each record is in the output once. */
    static void exactlyOnce() throws Exception {
        int count = 400;
        String output = topic + "-out";
        createTopic(output, Map.of());
        Producer<String, String> source = producer("source");
        begin(source, 0, count);
        source.commitTransaction();
        source.close();
        Thread killer = new Thread(() -> {
            for (int number = 0; number < 3; number++) {
                ask("restart");
            }
        });
        Consumer<String, String> input = consumer(
            COMMITTED, "group.id", "g-" + topic, "max.poll.records", "5");
        Producer<String, String> worker = producer("worker");
        input.assign(partitions(topic));
        long[] handled = {0};
        killer.start();
        until("all is handled", () -> handled[0] == count, () -> {
            List<String> values = new ArrayList<>();
            input.poll(SOON).forEach(each -> values.add(each.value()));
            if (values.isEmpty()) {
                return;
            }
            worker.beginTransaction();
            try {
                values.forEach(each -> worker.send(new ProducerRecord<>(
                    output, Integer.parseInt(each) % 4, null, each)));
                worker.sendOffsetsToTransaction(positions(input), input.groupMetadata());
                worker.commitTransaction();
                handled[0] += values.size();
            } catch (KafkaException error) {
                worker.abortTransaction();
                input.committed(Set.copyOf(partitions(topic))).forEach(
                    (place, each) -> input.seek(place, each == null ? 0 : each.offset()));
            }
        });
        killer.join();
        List<Integer> made = new ArrayList<>();
        until("all is there", () -> made.size() >= count, () -> {
            made.clear();
            made.addAll(numbers(read(COMMITTED, output)));
        });
        check(made.equals(numbers(0, count)), "made " + made);
        worker.close();
        input.close();
    }
}
