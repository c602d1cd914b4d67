import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { Refused, start } from "./odradek.mjs";

let broker;
before(async () => (broker = await start({ "num.partitions": 3 })));
after(() => broker.stop());

test("a topic is there, and its own", async (t) => {
  // Here your client connects to broker.bootstrap.
  const [host, port] = broker.bootstrap.split(":");
  const socket = connect(Number(port), host);
  await once(socket, "connect");
  socket.destroy();
  const topics = [await broker.topic(t.name, 2), await broker.topic(t.name)];
  assert.notEqual(topics[0], topics[1]);
  const made = await broker.ask("topics.create", { topics: [{ name: "with-defaults" }] });
  assert.deepEqual(made, [{ topic: "with-defaults", partitions: 3 }]);
});

test("what is refused is an error", async () => {
  await assert.rejects(broker.ask("topics.delete", { topics: ["nobodys"] }), (error) => {
    assert.ok(error instanceof Refused);
    assert.equal(error.word, "UNKNOWN_TOPIC_OR_PARTITION");
    return true;
  });
});

test("a broker that does not start says why", async () => {
  await assert.rejects(start({ "num.partitions": 0 }), /num\.partitions/);
});
