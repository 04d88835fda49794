// Its players: opens the rooms, plays an open-loop plan, says what the clients saw.
// node load.js '{"port": 2567, "tables": 100, "rate": 200, "warmup_s": 5, "seconds": 10, ...}'
// Prints a line of JSON whenever something begins or ends; the last one is the result.
import { Plan, chanceOf } from "./plan.js";
import { Seat, Table } from "./table.js";

delete globalThis.WebSocket; // the SDK then takes `ws`, which costs less than Node's own
const { Client } = await import("@colyseus/sdk");

const OPENING_AT_ONCE = 16;
const TICK_MS = 1;
const LATE_MS = 10;
const TABLES_TRIED_MAX = 64;
const SETTLE_MS = 500;

class Meter {
  constructor(seed) {
    this.chance = chanceOf(seed + 1);
    this.window = [Infinity, Infinity];
    this.tradesMs = [];
    this.lagsMs = [];
    this.deliveries = 0;
    this.faults = 0;
    this.sent = this.late = this.unplaced = 0;
    this.outcomes = { open: 0, traded: 0, withdrawn: 0, refused: 0, bell: 0 };
  }

  now() { return performance.now(); }
  measures(at) { return at >= this.window[0] && at < this.window[1]; }
  outcome(name) { if (this.measures(this.now())) this.outcomes[name]++; }
  traded(intendedAt) { if (this.measures(intendedAt)) this.tradesMs.push(this.now() - intendedAt); }
  lag(ms) { if (this.measures(this.now())) this.lagsMs.push(ms); }

  fault(what) {
    if (this.faults++ < 5) console.error(what);
  }
}

const asked = JSON.parse(process.argv[2]);
const meter = new Meter(asked.seed);
const say = (line) => console.log(JSON.stringify(line));

async function openTable() {
  const client = new Client(`http://127.0.0.1:${asked.port}`);
  const table = new Table(asked.seats);
  const sit = async (joining) => table.seats.push(new Seat(table, await joining, meter));
  await sit(client.create("pit"));
  const { roomId } = table.seats[0].room;
  while (table.seats.length < asked.seats) await sit(client.joinById(roomId));
  await table.ready;
  return table;
}

async function openTables() {
  const tables = [];
  let begun = 0;
  const opening = async () => {
    while (begun++ < asked.tables) tables.push(await openTable());
  };
  await Promise.all(Array.from({ length: OPENING_AT_ONCE }, opening));
  return tables;
}

// A table that can do something, in the order of the plan.
function place(tables, plan, intendedAt) {
  for (let tried = 0; tried < TABLES_TRIED_MAX; tried++) {
    if (tables[plan.table()].act(plan.kind, intendedAt)) return true;
  }
  return false;
}

function playDue(tables, plan, beganAt) {
  for (;;) {
    const intendedAt = beganAt + plan.atMs;
    if (intendedAt > meter.now() || intendedAt >= meter.window[1]) return;
    const placed = place(tables, plan, intendedAt);
    if (meter.measures(intendedAt)) {
      if (!placed) meter.unplaced++;
      else meter.sent++;
      if (meter.now() - intendedAt > LATE_MS) meter.late++;
    }
    plan.advance();
  }
}

function play(tables, plan) {
  const beganAt = meter.now();
  const warmAt = beganAt + asked.warmup_s * 1000;
  meter.window = [warmAt, warmAt + asked.seconds * 1000];
  let dueAt = beganAt, deliveriesBefore = null;
  return new Promise((resolve) => {
    const tick = () => {
      const now = meter.now();
      meter.lag(Math.max(0, now - dueAt));
      if (deliveriesBefore === null && now >= warmAt) {
        deliveriesBefore = meter.deliveries;
        say({ phase: "measuring" });
      }
      playDue(tables, plan, beganAt);
      if (now >= meter.window[1]) {
        say({ phase: "measured" });
        return setTimeout(resolve, SETTLE_MS, meter.deliveries - deliveriesBefore);
      }
      dueAt = meter.now() + TICK_MS;
      setTimeout(tick, TICK_MS);
    };
    tick();
  });
}

function percentiles(values) {
  const ordered = Float64Array.from(values).sort();
  const at = (share) => ordered[Math.min(ordered.length - 1, Math.floor(ordered.length * share))] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1), count: ordered.length };
}

const tables = await openTables();
say({ phase: "opened", tables: tables.length });
const deliveries = await play(tables, new Plan(asked));
say({
  phase: "done",
  sent: meter.sent,
  late: meter.late,
  unplaced: meter.unplaced,
  faults: meter.faults,
  deliveries,
  outcomes: meter.outcomes,
  trade_ms: percentiles(meter.tradesMs),
  loop_lag_p99_ms: percentiles(meter.lagsMs).p99,
  cpu_s: process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
});
process.exit(0);
