import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Asks Kafka's StandardAuthorizer what a file asks, and prints a line for each list.
 *
 * <p>The words of a line are between tabs; numbers are those of the wire. "list", the
 * value of allow.everyone.if.no.acl.found and the super users begin a list; "entry", type,
 * name, pattern, principal, host, operation and permission belong to it; "may",
 * principal, host, operation, type and name is a question, as is "any" without the name:
 * whether that is allowed on any such resource. A "1" is printed for yes, a "0" for no.
 */
public class Decisions {
    private record Asker(KafkaPrincipal principal, InetAddress clientAddress)
        implements AuthorizableRequestContext {
        static Asker of(String principal, String host) throws Exception {
            return new Asker(
                SecurityUtils.parseKafkaPrincipal(principal), InetAddress.getByName(host));
        }

        public String listenerName() {
            return "PLAINTEXT";
        }

        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        public int requestType() {
            return 0;
        }

        public int requestVersion() {
            return 0;
        }

        public String clientId() {
            return "";
        }

        public int correlationId() {
            return 0;
        }
    }

    private static StandardAuthorizer authorizer(String[] words) {
        StandardAuthorizer made = new StandardAuthorizer();
        Map<String, String> options = new HashMap<>();
        options.put(StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG, words[1]);
        options.put(StandardAuthorizer.SUPER_USERS_CONFIG, words[2]);
        options.put("node.id", "1");
        made.configure(options);
        made.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        made.completeInitialLoad();
        return made;
    }

    private static StandardAcl entry(String[] words) {
        return new StandardAcl(
            ResourceType.fromCode(code(words[1])),
            words[2],
            PatternType.fromCode(code(words[3])),
            words[4],
            words[5],
            AclOperation.fromCode(code(words[6])),
            AclPermissionType.fromCode(code(words[7])));
    }

    private static boolean may(StandardAuthorizer authorizer, String[] words)
        throws Exception {
        AclOperation operation = AclOperation.fromCode(code(words[3]));
        ResourceType kind = ResourceType.fromCode(code(words[4]));
        Asker asker = Asker.of(words[1], words[2]);
        if (words[0].equals("any")) {
            return authorizer.authorizeByResourceType(asker, operation, kind)
                == AuthorizationResult.ALLOWED;
        }
        ResourcePattern resource = new ResourcePattern(kind, words[5], PatternType.LITERAL);
        Action action = new Action(operation, resource, 1, false, false);
        return authorizer.authorize(asker, List.of(action)).get(0)
            == AuthorizationResult.ALLOWED;
    }

    private static byte code(String word) {
        return Byte.parseByte(word);
    }

    public static void main(String[] arguments) throws Exception {
        StandardAuthorizer authorizer = null;
        List<StringBuilder> answers = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "list" -> {
                    authorizer = authorizer(words);
                    answers.add(new StringBuilder());
                }
                case "entry" -> authorizer.addAcl(Uuid.randomUuid(), entry(words));
                default -> answers.get(answers.size() - 1)
                    .append(may(authorizer, words) ? '1' : '0');
            }
        }
        answers.forEach(System.out::println);
    }
}
