import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Asks Kafka's server-side assignors what a file asks, and prints a line for each group.
 *
 * <p>The words of a line are between tabs. "group" and the assignor begin a group; "topic",
 * number and count of partitions, and "member", id, instance id (or nothing), numbers of
 * topics, and what it had ("1:0,1;2:5") belong to it; "assign" asks. The answer has a word
 * for each member, in their order: what it is assigned, in the same form.
 */
public class Assignors {
    private final Map<Uuid, Integer> counts = new HashMap<>();
    private final Map<String, MemberSubscriptionAndAssignmentImpl> members = new TreeMap<>();
    private final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
    private final PartitionAssignor assignor;

    private Assignors(String name) {
        assignor = switch (name) {
            case "range" -> new RangeAssignor();
            case "simple" -> new SimpleAssignor();
            default -> new UniformAssignor();
        };
    }

    private static Uuid id(String number) {
        return new Uuid(0, Long.parseLong(number));
    }

    private void addMember(String[] words) {
        Set<Uuid> topics = Arrays.stream(words[3].split(","))
            .filter(each -> !each.isEmpty()).map(Assignors::id).collect(Collectors.toSet());
        Map<Uuid, Set<Integer>> had = new HashMap<>();
        if (words.length > 4 && !words[4].isEmpty()) {
            for (String topic : words[4].split(";")) {
                String[] both = topic.split(":");
                Set<Integer> numbers = new HashSet<>();
                for (String number : both[1].split(",")) {
                    numbers.add(Integer.valueOf(number));
                    owners.computeIfAbsent(id(both[0]), key -> new HashMap<>())
                        .put(Integer.valueOf(number), words[1]);
                }
                had.put(id(both[0]), numbers);
            }
        }
        Optional<String> instance =
            words[2].isEmpty() ? Optional.empty() : Optional.of(words[2]);
        members.put(words[1], new MemberSubscriptionAndAssignmentImpl(
            Optional.empty(), instance, topics, new Assignment(had)));
    }

    private String assign() {
        boolean isEven = members.values().stream()
            .map(MemberSubscriptionAndAssignmentImpl::subscribedTopicIds).distinct()
            .count() <= 1;
        SubscriptionType type =
            isEven ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        SubscribedTopicDescriber topics = new SubscribedTopicDescriber() {
            public int numPartitions(Uuid topicId) {
                return counts.getOrDefault(topicId, -1);
            }

            public Set<String> racksForPartition(Uuid topicId, int partition) {
                return Set.of();
            }
        };
        var given =
            assignor.assign(new GroupSpecImpl(members, type, owners), topics).members();
        return members.keySet().stream().map(each -> text(given.containsKey(each)
            ? given.get(each).partitions() : Map.of())).collect(Collectors.joining("\t"));
    }

    private static String text(Map<Uuid, Set<Integer>> partitions) {
        return partitions.entrySet().stream()
            .filter(each -> !each.getValue().isEmpty())
            .map(each -> each.getKey().getLeastSignificantBits() + ":"
                + new TreeSet<>(each.getValue()).stream().map(String::valueOf)
                    .collect(Collectors.joining(",")))
            .collect(Collectors.joining(";"));
    }

    public static void main(String[] arguments) throws Exception {
        Assignors group = null;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "group" -> group = new Assignors(words[1]);
                case "topic" -> group.counts.put(id(words[1]), Integer.valueOf(words[2]));
                case "member" -> group.addMember(words);
                case "assign" -> System.out.println(group.assign());
                default -> throw new IllegalArgumentException(line);
            }
        }
    }
}
