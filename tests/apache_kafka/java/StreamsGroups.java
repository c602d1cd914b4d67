import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.StreamsInvalidTopologyException;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.generated.StreamsGroupTopologyValue.CopartitionGroup;
import org.apache.kafka.coordinator.group.generated.StreamsGroupTopologyValue.Subtopology;
import org.apache.kafka.coordinator.group.generated.StreamsGroupTopologyValue.TopicInfo;
import org.apache.kafka.coordinator.group.streams.StreamsTopology;
import org.apache.kafka.coordinator.group.streams.TopologyMetadata;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredInternalTopic;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredSubtopology;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredTopology;
import org.apache.kafka.coordinator.group.streams.topics.InternalTopicManager;

/**
 * Asks Kafka how it configures topologies, and how it assigns tasks, and prints a line for each.
 *
 * <p>The words of a line are between tabs. "group" begins; "topic" has name and count of a topic
 * that there is; "part" has the id of a subtopology, its sources, its repartition sinks, its
 * repartition sources ("name:count", 0 for none), its changelogs, all between commas, and groups
 * of inputs by their places ("0,1:2;3:" is sources 0 and 1 with repartition 2, source 3 alone).
 * "configure" asks. The answer has the status or a dash, its text, the subtopologies
 * ("id=tasks=name:count,..."), and the topics to make ("name:count").
 *
 * <p>"tasks" has the id of a subtopology, its number of tasks, and whether it has a state (1);
 * "member" its id, its process, and the active and the standby tasks that it had
 * ("part:0,1;other:5"). "assign", with the number of standby tasks, asks. The answer has two
 * words for each member, in their order: active and standby tasks.
 */
public class StreamsGroups {
    private final Map<String, Integer> topics = new HashMap<>();
    private final Map<String, Subtopology> parts = new HashMap<>();
    private final TreeMap<String, ConfiguredSubtopology> configured = new TreeMap<>();
    private final Map<String, AssignmentMemberSpec> members = new TreeMap<>();

    private record Topic(String name, int partitionCount)
        implements CoordinatorMetadataImage.TopicMetadata {
        public Uuid id() {
            return Uuid.ZERO_UUID;
        }

        public List<String> partitionRacks(int partition) {
            return List.of();
        }
    }

    private record Image(Map<String, Integer> topics) implements CoordinatorMetadataImage {
        public Set<Uuid> topicIds() {
            return Set.of();
        }

        public Set<String> topicNames() {
            return topics.keySet();
        }

        public Optional<TopicMetadata> topicMetadata(String name) {
            return Optional.ofNullable(topics.get(name)).map(count -> new Topic(name, count));
        }

        public Optional<TopicMetadata> topicMetadata(Uuid id) {
            return Optional.empty();
        }

        public CoordinatorMetadataDelta emptyDelta() {
            return null;
        }

        public long version() {
            return 1;
        }

        public boolean isEmpty() {
            return false;
        }
    }

    private static List<String> words(String text, String between) {
        return text.isEmpty() ? List.of() : Arrays.asList(text.split(between, -1));
    }

    private static TopicInfo topic(String word) {
        String[] both = word.split(":");
        return new TopicInfo().setName(both[0])
            .setPartitions(both.length > 1 ? Integer.parseInt(both[1]) : 0);
    }

    private static List<Short> places(String text) {
        return words(text, ",").stream().map(Short::valueOf).toList();
    }

    private void addPart(String[] words) {
        Subtopology part = new Subtopology().setSubtopologyId(words[1])
            .setSourceTopics(words(words[2], ","))
            .setRepartitionSinkTopics(words(words[3], ","))
            .setRepartitionSourceTopics(
                words(words[4], ",").stream().map(StreamsGroups::topic).toList())
            .setStateChangelogTopics(
                words(words[5], ",").stream().map(StreamsGroups::topic).toList());
        List<CopartitionGroup> groups = new ArrayList<>();
        for (String group : words(words[6], ";")) {
            String[] both = group.split(":", -1);
            groups.add(new CopartitionGroup().setSourceTopics(places(both[0]))
                .setRepartitionSourceTopics(places(both[1])));
        }
        parts.put(words[1], part.setCopartitionGroups(groups));
    }

    private String configure() {
        ConfiguredTopology found;
        try {
            found = InternalTopicManager.configureTopics(
                new LogContext().logger(StreamsGroups.class), "g", "m", 0,
                new StreamsTopology(1, parts), new Image(topics), Time.SYSTEM);
        } catch (StreamsInvalidTopologyException error) {
            return "invalid\t" + error.getMessage();
        }
        String problem = found.topicConfigurationException()
            .map(each -> each.status().code() + "\t" + each.getMessage()).orElse("-\t");
        String parts = found.subtopologies().map(all -> all.entrySet().stream()
            .map(each -> each.getKey() + "=" + each.getValue().numberOfTasks() + "="
                + text(each.getValue())).collect(Collectors.joining(";"))).orElse("none");
        String missing = found.internalTopicsToBeCreated().values().stream()
            .map(each -> each.name() + ":" + each.numPartitions()).sorted()
            .collect(Collectors.joining(","));
        return problem + "\t" + parts + "\t" + missing;
    }

    private static String text(ConfiguredSubtopology part) {
        Map<String, Integer> counts = new TreeMap<>();
        part.repartitionSourceTopics().forEach(
            (name, topic) -> counts.put(name, topic.numberOfPartitions()));
        part.stateChangelogTopics().forEach(
            (name, topic) -> counts.put(name, topic.numberOfPartitions()));
        return counts.entrySet().stream().map(each -> each.getKey() + ":" + each.getValue())
            .collect(Collectors.joining(","));
    }

    private void addTasks(String[] words) {
        Map<String, ConfiguredInternalTopic> changelogs = words[3].equals("1")
            ? Map.of("c", new ConfiguredInternalTopic("c", 1, Optional.empty(), Map.of()))
            : Map.of();
        configured.put(words[1], new ConfiguredSubtopology(
            Integer.parseInt(words[2]), Set.of("in"), Map.of(), Set.of(), changelogs));
    }

    private static Map<String, Set<Integer>> tasks(String text) {
        Map<String, Set<Integer>> tasks = new HashMap<>();
        for (String part : words(text, ";")) {
            String[] both = part.split(":");
            tasks.put(both[0], words(both[1], ",").stream().map(Integer::valueOf)
                .collect(Collectors.toSet()));
        }
        return tasks;
    }

    private void addMember(String[] words) {
        members.put(words[1], new AssignmentMemberSpec(
            Optional.empty(), Optional.empty(), tasks(words[3]), tasks(words[4]), Map.of(),
            words[2], Map.of(), Map.of(), Map.of()));
    }

    private String assign(String standbyCount) {
        var given = new StickyTaskAssignor().assign(
            new GroupSpecImpl(members, Map.of("num.standby.replicas", standbyCount)),
            new TopologyMetadata(CoordinatorMetadataImage.EMPTY, configured)).members();
        return members.keySet().stream().map(given::get)
            .map(each -> text(each.activeTasks()) + "\t" + text(each.standbyTasks()))
            .collect(Collectors.joining("\t"));
    }

    private static String text(Map<String, Set<Integer>> tasks) {
        return new TreeMap<>(tasks).entrySet().stream()
            .map(each -> each.getKey() + ":" + new TreeSet<>(each.getValue()).stream()
                .map(String::valueOf).collect(Collectors.joining(",")))
            .collect(Collectors.joining(";"));
    }

    public static void main(String[] arguments) throws Exception {
        StreamsGroups group = null;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "group" -> group = new StreamsGroups();
                case "topic" -> group.topics.put(words[1], Integer.valueOf(words[2]));
                case "part" -> group.addPart(words);
                case "configure" -> System.out.println(group.configure());
                case "tasks" -> group.addTasks(words);
                case "member" -> group.addMember(words);
                case "assign" -> System.out.println(group.assign(words[1]));
                default -> throw new IllegalArgumentException(line);
            }
        }
    }
}
