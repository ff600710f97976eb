// Plays the first legal action: a program for Back Alley, with nothing but Node.js.

const lines = require("readline").createInterface({ input: process.stdin });
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "hello") {
    say({ type: "hello", protocol: 1, name: "first player", wants: [] });
  } else if (message.type === "act") {
    say({ id: message.id, action: message.legal[0].action });
  }
});
