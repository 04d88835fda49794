// What is intended, from the seed alone: when, at which table, which kind of action.

// mulberry32: a seed gives the same run on every machine.
export function chanceOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

// Arrivals are a Poisson process; tables are visited in sweeps, each in an order of its own.
export class Plan {
  constructor({ seed, tables, rate, mix }) {
    this.chance = chanceOf(seed);
    this.gapMs = 1000 / rate;
    this.kinds = Object.entries(mix).flatMap(([kind, percent]) => new Array(percent).fill(kind));
    this.order = Array.from({ length: tables }, (_, number) => number);
    this.next = tables;
    this.atMs = 0;
    this.advance();
  }

  advance() {
    this.atMs += -Math.log(1 - this.chance()) * this.gapMs;
    this.kind = this.kinds[Math.floor(this.chance() * this.kinds.length)];
  }

  table() {
    if (this.next === this.order.length) this.shuffle();
    return this.order[this.next++];
  }

  shuffle() {
    const { order } = this;
    for (let last = order.length - 1; last > 0; last--) {
      const other = Math.floor(this.chance() * (last + 1));
      [order[last], order[other]] = [order[other], order[last]];
    }
    this.next = 0;
  }
}
