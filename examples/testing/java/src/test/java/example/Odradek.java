package example;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A Kafka broker for tests: one for all classes that say
 * {@code @ExtendWith(Odradek.class)}, started by the first test that wants it. Tests
 * have parameters of these types: {@link Broker}, and {@link Topic @Topic} String, the
 * name of a topic that no other test has.
 *
 * <p>It needs the command {@code odradek} on the path, and nothing but JUnit 5.
 */
public final class Odradek implements ParameterResolver {
    private static final ExtensionContext.Namespace HERE =
            ExtensionContext.Namespace.create(Odradek.class);

    /** The name of a new topic. */
    @Target(ElementType.PARAMETER)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface Topic {
        int partitions() default 1;
    }

    /** The broker does not do what it was asked. */
    public static final class Refused extends RuntimeException {
        /** For programs; the message is for people. */
        public final String word;

        Refused(String word, String message) {
            super(message);
            this.word = word;
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext test) {
        Class<?> type = parameter.getParameter().getType();
        return type == Broker.class || type == String.class && parameter.isAnnotated(Topic.class);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext test) {
        // Kept with the run, which closes it.
        Broker broker = test.getRoot()
                .getStore(HERE)
                .getOrComputeIfAbsent(Broker.class, key -> Broker.start(Map.of()), Broker.class);
        return parameter.findAnnotation(Topic.class)
                .<Object>map(topic -> broker.topic(test.getDisplayName(), topic.partitions()))
                .orElse(broker);
    }

    /** A broker in a process of its own, which ends with this one at the latest. */
    public static final class Broker
            implements ExtensionContext.Store.CloseableResource, AutoCloseable {
        private static final Pattern PORT = Pattern.compile("\"port\": (\\d+)");
        private static final Pattern HTTP_PORT = Pattern.compile("\"http_port\": (\\d+)");
        private static final Pattern ERROR =
                Pattern.compile("\\{\"error\": \"([^\"]*)\", \"message\": \"(.*)\"\\}");

        private final HttpClient http = HttpClient.newHttpClient();
        private final AtomicInteger count = new AtomicInteger();
        private final Process process;
        private final Path directory;
        private final int port;
        private final int httpPort;

        private Broker(Process process, Path directory, String ready) {
            this.process = process;
            this.directory = directory;
            port = number(PORT, ready);
            httpPort = number(HTTP_PORT, ready);
        }

        /** A broker with these options besides those that suit tests. */
        public static Broker start(Map<String, String> options) {
            try {
                Path directory = Files.createTempDirectory("odradek-");
                Path log = directory.resolve("log");
                Process process = new ProcessBuilder(command(directory, options))
                        .redirectError(log.toFile())
                        .start();
                // One line, when clients can connect.
                String ready = process.inputReader().readLine();
                if (ready == null) {
                    String said = Files.readString(log);
                    remove(directory);
                    throw new IllegalStateException("the broker did not start:\n" + said);
                }
                return new Broker(process, directory, ready);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        private static List<String> command(Path directory, Map<String, String> options) {
            Map<String, String> all = new LinkedHashMap<>();
            all.put("test.control", "true");
            all.put("http.listener", "127.0.0.1:0");
            all.put("logging.format", "json");
            all.put("durability", "none");
            all.put("log.min.free.bytes", "0");
            all.put("group.initial.rebalance.delay.ms", "0");
            all.put("offsets.topic.num.partitions", "1");
            all.put("transaction.state.log.num.partitions", "1");
            all.put("exit.with.process", "" + ProcessHandle.current().pid());
            all.putAll(options);
            String data = directory.resolve("data").toString();
            List<String> command = new ArrayList<>(
                    List.of("odradek", "serve", "--port", "0", "--data-dir", data));
            all.forEach((name, value) -> command.addAll(List.of("-o", name + "=" + value)));
            return command;
        }

        /** host:port, for clients. */
        public String bootstrap() {
            return "127.0.0.1:" + port;
        }

        /**
         * What no client can ask: the lines of the answer, each an object in JSON with
         * "item".
         */
        public List<String> ask(String request, String json) {
            HttpRequest asked = HttpRequest.newBuilder()
                    .uri(URI.create("http://127.0.0.1:" + httpPort + "/test/v1/" + request))
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(json))
                    .build();
            try {
                Stream<String> body = http.send(asked, HttpResponse.BodyHandlers.ofLines()).body();
                List<String> lines = new ArrayList<>(body.toList());
                String last = lines.remove(lines.size() - 1);
                Matcher error = ERROR.matcher(last);
                if (error.matches()) {
                    throw new Refused(error.group(1), error.group(2));
                }
                if (!last.equals("{\"done\": true}")) {
                    throw new IllegalStateException("the broker ended before it had answered");
                }
                return lines;
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(error);
            }
        }

        /** The name of a new topic that no other test has. */
        public String topic(String test, int partitions) {
            String name = test.replaceAll("[^\\w.-]+", "-") + count.incrementAndGet();
            String topic = "{\"name\": \"" + name + "\", \"partitions\": " + partitions + "}";
            ask("topics.create", "{\"topics\": [" + topic + "]}");
            return name;
        }

        @Override
        public void close() {
            process.destroy();
            try {
                process.waitFor();
                remove(directory);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }

        private static int number(Pattern pattern, String text) {
            Matcher found = pattern.matcher(text);
            if (!found.find()) {
                throw new IllegalStateException("the broker says " + text);
            }
            return Integer.parseInt(found.group(1));
        }

        private static void remove(Path directory) throws IOException {
            try (Stream<Path> paths = Files.walk(directory)) {
                for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            }
        }
    }
}
