/** Scenes with the Java client's transactional producer. */
public class Transactions extends Scenes {
    static Scene scene(String name) {
        throw new IllegalArgumentException(name);
    }
}
