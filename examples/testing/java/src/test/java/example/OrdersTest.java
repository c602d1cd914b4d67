package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(Odradek.class)
class OrdersTest {
    @Test
    void whatIsProducedIsConsumed(
            Odradek.Broker broker, @Odradek.Topic(partitions = 2) String orders) throws Exception {
        Map<String, Object> servers = Map.of("bootstrap.servers", broker.bootstrap());
        var text = new StringSerializer();
        try (var producer = new KafkaProducer<>(servers, text, text)) {
            assertEquals(2, producer.partitionsFor(orders).size());
            producer.send(new ProducerRecord<>(orders, 1, "key", "value")).get();
        }
        var words = new StringDeserializer();
        try (var consumer = new KafkaConsumer<>(servers, words, words)) {
            var second = new TopicPartition(orders, 1);
            consumer.assign(List.of(second));
            consumer.seekToBeginning(List.of(second));
            ConsumerRecords<String, String> found = ConsumerRecords.empty();
            while (found.isEmpty()) {
                found = consumer.poll(Duration.ofSeconds(1));
            }
            assertEquals("value", found.iterator().next().value());
        }
    }

    @Test
    void everyTestHasItsOwnTopic(@Odradek.Topic String first, @Odradek.Topic String second) {
        assertTrue(!first.equals(second));
    }

    @Test
    void whatIsRefusedIsAnError(Odradek.Broker broker) {
        String body = "{\"topics\": [\"nobodys\"]}";
        var refused =
                assertThrows(Odradek.Refused.class, () -> broker.ask("topics.delete", body));
        assertEquals("UNKNOWN_TOPIC_OR_PARTITION", refused.word);
    }

    @Test
    void aBrokerThatDoesNotStartSaysWhy() {
        var error =
                assertThrows(
                        IllegalStateException.class,
                        () -> Odradek.Broker.start(Map.of("num.partitions", "0")));
        assertTrue(error.getMessage().contains("num.partitions"), error.getMessage());
    }
}
