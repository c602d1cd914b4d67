import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.serialization.StringSerializer;

/** Scenes with the Java admin client: topics by id, and what was just written. */
public class Topics extends Scenes {
    static Scene scene(String name) {
        return switch (name) {
            case "by-id" -> Topics::byId;
            case "just-written" -> Topics::justWritten;
            default -> throw new IllegalArgumentException(name);
        };
    }

    static void byId() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            Uuid id = create(admin);
            var asked = admin.describeTopics(TopicCollection.ofTopicIds(List.of(id)));
            TopicDescription found = asked.allTopicIds().get().get(id);
            check(found.name().equals(topic), "the name " + found);
            check(found.partitions().size() == 2, "the partitions " + found);
            Uuid unknown = Uuid.randomUuid();
            var nothing = TopicCollection.ofTopicIds(List.of(unknown));
            try {
                admin.describeTopics(nothing).allTopicIds().get();
                check(false, "a topic of an unknown id");
            } catch (java.util.concurrent.ExecutionException error) {
                check(error.getCause() instanceof UnknownTopicIdException, "" + error);
            }
            admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get();
            hear(admin, false);
        }
    }

    static void justWritten() throws Exception {
        TopicPartition place = new TopicPartition(topic, 0);
        Map<String, Object> properties = Map.of(
            "bootstrap.servers", address,
            "acks", "1",
            "enable.idempotence", "false",
            "key.serializer", StringSerializer.class.getName(),
            "value.serializer", StringSerializer.class.getName());
        try (
            Admin admin = Admin.create(Map.of("bootstrap.servers", address));
            var producer = new KafkaProducer<String, String>(properties)) {
            create(admin);
            for (long count = 1; count <= 20; count++) {
                producer.send(new ProducerRecord<>(topic, 0, null, "v")).get();
                var asked = admin.listOffsets(Map.of(place, OffsetSpec.latest()));
                long end = asked.partitionResult(place).get().offset();
                check(end == count, "the end is " + end + " behind " + count);
            }
            for (long count = 21; count <= 40; count++) {
                producer.send(new ProducerRecord<>(topic, 0, null, "v")).get();
                var all = Map.of(place, RecordsToDelete.beforeOffset(count));
                long low = admin.deleteRecords(all).lowWatermarks().get(place).get()
                    .lowWatermark();
                check(low == count, "the start is " + low + " behind " + count);
            }
        }
    }

    private static Uuid create(Admin admin) throws Exception {
        var wanted = Set.of(new NewTopic(topic, 2, (short) 1));
        Uuid id = admin.createTopics(wanted).topicId(topic).get();
        hear(admin, true);
        return id;
    }

    /** Apache Kafka's broker hears of a change after the controller has answered. */
    private static void hear(Admin admin, boolean isThere) {
        until("there: " + isThere, () -> names(admin).contains(topic) == isThere, () ->
            Thread.sleep(10));
    }

    private static Set<String> names(Admin admin) {
        try {
            return admin.listTopics().names().get();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }
}
