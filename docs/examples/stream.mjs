// stream.mjs [URL] [PROMPT] [SECONDS] [FILE.wav]: makes a piece over /v1/stream and saves it. A connection that breaks is taken up where
// it was. Node 22 as it is; Node 20 with --experimental-websocket or the package ws. CONTINUO_API_KEY is the key, if one is needed.
import { writeFileSync } from "node:fs";

const [url = "ws://127.0.0.1:8080/v1/stream", prompt = "a slow waltz", seconds = "5", file = "stream.wav"] = process.argv.slice(2);
const WebSocket = globalThis.WebSocket ?? (await import("ws")).WebSocket;
const key = process.env.CONTINUO_API_KEY;
const pieces = [];
let offset = 0, ready = null, over = false, tries = 0;

function save({ sample_rate, channels }) {
  const data = Buffer.concat(pieces), head = Buffer.alloc(44);
  head.write("RIFF", 0), head.writeUInt32LE(36 + data.length, 4), head.write("WAVEfmt ", 8), head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20), head.writeUInt16LE(channels, 22), head.writeUInt32LE(sample_rate, 24);
  head.writeUInt32LE(sample_rate * channels * 2, 28), head.writeUInt16LE(channels * 2, 32), head.writeUInt16LE(16, 34);
  head.write("data", 36), head.writeUInt32LE(data.length, 40);
  writeFileSync(file, Buffer.concat([head, data]));
}

function connect() {
  const socket = key ? new WebSocket(url, { headers: { Authorization: `Bearer ${key}` } }) : new WebSocket(url);
  const say = (message) => socket.send(JSON.stringify(message));
  socket.binaryType = "arraybuffer"; // what is not text is samples, 16 bits each
  socket.onopen = () => say(ready ? { type: "resume", token: ready.token, offset } : { type: "start", prompt, duration: +seconds, window: 262144 });
  socket.onmessage = ({ data }) => {
    const message = typeof data === "string" ? JSON.parse(data) : { type: "sound" };
    if (message.type === "sound") (tries = 0), pieces.push(Buffer.from(data)), (offset += data.byteLength), say({ type: "ack", offset });
    if (message.type === "ready") ready = message;
    if (message.type === "error") (over = true), (process.exitCode = 1), console.error(message.error.message);
    if (message.type === "done") (over = true), save(ready), console.log(`${file}: ${message.seconds} s, seed ${ready.seed}`);
    if (over) socket.close();
  };
  socket.onerror = () => {}; // a close follows
  socket.onclose = () => {
    if (!over && ++tries <= 5) setTimeout(connect, 500 * tries);
    else if (!over) (process.exitCode = 1), console.error("the connection is lost");
  };
}
connect();
