// The server, on a free port of this machine. Says its port.
// node server.js [{"patch_ms": 60000, "ping_ms": 60000}]: timers other than the library sets them.
import { Server } from "@colyseus/core";
import { WebSocketTransport } from "@colyseus/ws-transport";
import { PitRoom } from "./room.js";

// Thousands of players come within seconds.
const BACKLOG = 4096;

const { patch_ms: patchRate, ping_ms: pingInterval } = JSON.parse(process.argv[2] ?? "{}");
const transport = new WebSocketTransport(pingInterval ? { pingInterval } : {});
const server = new Server({ transport, greet: false });
server.define("pit", PitRoom, patchRate ? { patchRate } : {});
await server.listen(0, "127.0.0.1", BACKLOG);
console.log(JSON.stringify({ port: transport.server.address().port }));
