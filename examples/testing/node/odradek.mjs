// A Kafka broker for tests, in a process of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const DEFAULTS = {
  "test.control": true,
  "http.listener": "127.0.0.1:0",
  "logging.format": "json",
  durability: "none",
  "log.min.free.bytes": 0,
  "group.initial.rebalance.delay.ms": 0,
  "offsets.topic.num.partitions": 1,
  "transaction.state.log.num.partitions": 1,
  "exit.with.process": process.pid,
};

/** The broker does not do what it was asked. `word` is for programs. */
export class Refused extends Error {
  constructor(word, message) {
    super(message);
    this.word = word;
  }
}

/** A broker that runs; `options` are those of a broker, by name. */
export async function start(options = {}) {
  const directory = await mkdtemp(join(tmpdir(), "odradek-"));
  const log = await open(join(directory, "log"), "w");
  const words = Object.entries({ ...DEFAULTS, ...options });
  const child = spawn(
    "odradek",
    [
      ...["serve", "--port", "0", "--data-dir", join(directory, "data")],
      ...words.flatMap(([name, value]) => ["-o", `${name}=${value}`]),
    ],
    { stdio: ["ignore", "pipe", log.fd] },
  );
  const ended = once(child, "close");
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([once(lines, "line"), ended]);
  await log.close();
  if (typeof line[0] !== "string") {
    const said = await readFile(join(directory, "log"), "utf8");
    await rm(directory, { recursive: true });
    throw new Error(`the broker did not start:\n${said}`);
  }
  return new Broker(child, ended, directory, JSON.parse(line[0]));
}

export class Broker {
  #child;
  #ended;
  #directory;
  #count = 0;

  constructor(child, ended, directory, ready) {
    this.#child = child;
    this.#ended = ended;
    this.#directory = directory;
    const [{ host, port }] = ready.listeners;
    /** host:port, for clients. */
    this.bootstrap = `${host}:${port}`;
    /** Where it is asked for what no client can ask. */
    this.url = `http://127.0.0.1:${ready.http_port}`;
  }

  /** The items of the answer to a request. */
  async ask(request, fields = {}) {
    const response = await fetch(`${this.url}/test/v1/${request}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(fields),
    });
    const lines = (await response.text()).trim().split("\n").map((line) => JSON.parse(line));
    const { error, message, done } = lines.pop();
    if (error) throw new Refused(error, message);
    if (!done) throw new Error("the broker ended before it had answered");
    return lines.map((line) => line.item);
  }

  /** The name of a new topic that no other test has. */
  async topic(test, partitions = 1, config = {}) {
    const name = `${test.replace(/[^\w.-]+/g, "-")}-${++this.#count}`;
    await this.ask("topics.create", { topics: [{ name, partitions, config }] });
    return name;
  }

  async stop() {
    this.#child.kill();
    await this.#ended;
    await rm(this.#directory, { recursive: true });
  }
}
