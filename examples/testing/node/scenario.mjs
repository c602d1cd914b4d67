// node scenario.mjs URL < scenario.txt: each answer, after its status.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const space = line.indexOf(" ");
  const response = await fetch(`${process.argv[2]}/test/v1/${line.slice(0, space)}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: line.slice(space + 1),
  });
  process.stdout.write(`${response.status}\n${await response.text()}`);
}
