import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.utils.Exit;
import org.slf4j.LoggerFactory;

/**
 * Plays scenes and runs Kafka's tools, one after the other in one process.
 *
 * <p>A line of standard input says what, its words between tabs: "scene", class, scene,
 * address and topic; or "tool", class and arguments, or "feed", what the tool reads
 * (with 0x01 for line breaks), class and arguments. What comes of it goes to standard
 * output: lines after "|" are a tool's, "?" asks for something to be done and waits for
 * a line, and the last one is "done", or "failed" after a stack trace behind "!".
 */
public class Scenes {
    /** Bounds what hangs, on a machine that does much else. */
    static final long WAIT_MS = 600_000;
    static final PrintStream OUT = System.out;
    static final BufferedReader IN = new BufferedReader(
        new InputStreamReader(System.in, StandardCharsets.UTF_8));
    static String address;
    static String topic;
    static Ended ended;
    static List<Runnable> atEnd = new ArrayList<>();

    /** What to do in a scene. */
    interface Scene {
        void play() throws Exception;
    }

    /** A tool that wants to end the process. */
    static class Ended extends RuntimeException {
        final int code;

        Ended(int code, String why) {
            super("exit code " + code + ": " + why);
            this.code = code;
        }
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void until(String what, BooleanSupplier condition, Scene step) {
        long began = System.nanoTime();
        try {
            while (!condition.getAsBoolean()) {
                step.play();
                long passedMs = (System.nanoTime() - began) / 1_000_000;
                check(passedMs < WAIT_MS || condition.getAsBoolean(), "never: " + what);
            }
        } catch (RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    /** Returns the error, which must be of this kind. */
    static <E extends Throwable> E fails(Class<E> kind, Scene scene) {
        try {
            scene.play();
        } catch (Throwable error) {
            if (kind.isInstance(error)) {
                return kind.cast(error);
            }
            throw new AssertionError("not a " + kind.getSimpleName(), error);
        }
        throw new AssertionError("no " + kind.getSimpleName());
    }

    /** Has something done outside of this process. */
    static void ask(String what) {
        say("?", what);
        try {
            check(IN.readLine() != null, "nobody does it: " + what);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    static void say(String kind, String text) {
        text.lines().forEach(line -> OUT.println(kind + line));
        OUT.flush();
    }

    static void playScene(String[] words) throws Exception {
        address = words[3];
        topic = words[4];
        switch (words[1]) {
            case "Groups" -> Groups.scene(words[2]).play();
            case "Logins" -> Logins.scene(words[2]).play();
            case "AssignedGroups" -> Groups.assigned(words[2]).play();
            case "Shares" -> Shares.scene(words[2]).play();
            case "Topics" -> Topics.scene(words[2]).play();
            case "Transactions" -> Transactions.scene(words[2]).play();
            default -> throw new IllegalArgumentException(words[1]);
        }
    }

    static void runTool(String[] words, String input) throws Throwable {
        String[] arguments = Arrays.copyOfRange(words, 2, words.length);
        PrintStream errors = System.err;
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(System.out);
        ended = null;
        atEnd.clear();
        try {
            Class.forName(words[1]).getMethod("main", String[].class)
                .invoke(null, (Object) arguments);
        } catch (InvocationTargetException error) {
            if (ended == null) {
                throw error.getCause();
            }
        } finally {
            atEnd.forEach(Runnable::run);
            System.setOut(OUT);
            System.setErr(errors);
            say("|", printed.toString(StandardCharsets.UTF_8));
        }
        if (ended != null && ended.code != 0) {
            throw ended;
        }
    }

    /** Ends a tool: what it does after that, as it goes on here, is not seen. */
    static void end(int code, String why) {
        if (ended == null) {
            ended = new Ended(code, why);
            System.setOut(new PrintStream(OutputStream.nullOutputStream()));
            System.setErr(System.out);
        }
        throw ended;
    }

    public static void main(String[] none) throws IOException {
        LoggerFactory.getLogger(Scenes.class); // the log keeps the streams of now
        Exit.setExitProcedure(Scenes::end);
        Exit.setShutdownHookAdder((name, hook) -> atEnd.add(hook));
        for (String line = IN.readLine(); line != null; line = IN.readLine()) {
            String[] words = line.split("\t", -1);
            try {
                if (words[0].equals("tool")) {
                    runTool(words, "");
                } else if (words[0].equals("feed")) {
                    String input = words[1].replace('\u0001', '\n');
                    runTool(Arrays.copyOfRange(words, 1, words.length), input);
                } else {
                    playScene(words);
                }
                say("", "done");
            } catch (Throwable error) {
                StringWriter trace = new StringWriter();
                error.printStackTrace(new PrintWriter(trace));
                say("!", trace.toString());
                say("", "failed");
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
