// One room as its four clients see it together, and what they do when the plan asks for it.
const LOT_MAX = 4;
const CARDS_A_SUIT = 9;
// Commands of a seat whose intended time is remembered; far more than are ever on their way.
const REMEMBERED = 64;
// After a trade a seat may collect something else: two that want the same would never end.
const CHANGES_ITS_MIND = 0.1;

export class Seat {
  constructor(table, room, meter) {
    this.table = table;
    this.room = room;
    this.meter = meter;
    this.number = -1;
    this.hand = null;
    this.target = 0;
    this.offered = 0; // the size of its open offer
    this.waiting = 0; // commands without an outcome
    this.actedAt = 0;
    this.commands = 0;
    this.intended = new Float64Array(REMEMBERED);
    this.listen();
  }

  listen() {
    const { room, meter } = this;
    const on = (type, take) => room.onMessage(type, (message) => {
      meter.deliveries++;
      take(message);
    });
    on("seated", ({ seat }) => { this.number = seat; });
    on("dealt", (message) => this.dealt(message));
    on("offered", ({ seat, size }) => this.own(seat, "open", size));
    on("withdrawn", ({ seat }) => this.own(seat, "withdrawn", 0));
    on("traded", (message) => this.traded(message));
    on("corner", () => {});
    on("refused", () => this.settle("refused"));
    room.onError((code, reason) => meter.fault(`an error at a client: ${code} ${reason}`));
    room.onLeave((code) => meter.fault(`a client was cut: ${code}`));
  }

  dealt({ by, hand }) {
    this.hand = hand;
    this.offered = 0;
    this.choose();
    if (by === this.number) this.settle("bell");
    if (by === null) this.table.dealt();
  }

  own(seat, outcome, size) {
    if (seat !== this.number) return;
    this.offered = size;
    this.settle(outcome);
  }

  traded({ seat, size, number, given, received }) {
    if (given === undefined) return; // between two others
    this.offered = 0;
    this.hand[given] -= size;
    this.hand[received] += size;
    if (this.hand[given] < 0) this.meter.fault("cards that were not there have been given");
    if (this.meter.chance() < CHANGES_ITS_MIND) this.choose();
    if (seat === this.number) this.settle("traded");
    else this.meter.traded(this.table.bySeat[seat].intended[number % REMEMBERED]);
  }

  settle(outcome) {
    this.waiting--;
    this.meter.outcome(outcome);
  }

  // Collect the suit it has most of; of several one by chance.
  choose() {
    const most = Math.max(...this.hand);
    const suits = this.hand.flatMap((count, suit) => (count >= most - 1 ? [suit] : []));
    this.target = suits[Math.floor(this.meter.chance() * suits.length)];
  }

  corner() {
    return this.hand.indexOf(CARDS_A_SUIT);
  }

  spare(size) {
    return this.hand.findIndex((count, suit) => suit !== this.target && count >= size);
  }

  send(type, message, intendedAt) {
    const number = this.commands++;
    this.intended[number % REMEMBERED] = intendedAt;
    this.waiting++;
    this.actedAt = this.meter.now();
    this.room.send(type, { ...message, number });
  }
}

export class Table {
  constructor(seatsWanted) {
    this.seatsWanted = seatsWanted;
    this.seats = [];
    this.bySeat = [];
    this.hands = 0;
    this.ready = new Promise((resolve) => { this.isReady = resolve; });
  }

  dealt() {
    if (++this.hands < this.seatsWanted) return;
    for (const seat of this.seats) this.bySeat[seat.number] = seat;
    this.isReady();
  }

  // Do what is planned; where that cannot be, an offer of the other kind. False: nothing can be.
  act(kind, intendedAt) {
    const able = [...this.seats].sort((a, b) => a.waiting - b.waiting || a.actedAt - b.actedAt);
    for (const seat of able) {
      if (seat.corner() < 0 || seat.waiting) continue;
      seat.send("bell", { suit: seat.corner() }, intendedAt);
      return true;
    }
    if (kind === "withdraw") {
      const seat = able.find((one) => one.offered);
      if (seat) { seat.send("withdraw", {}, intendedAt); return true; }
    }
    if (kind === "refused") {
      const seat = able[0];
      const suit = seat.hand.findIndex((count) => count < LOT_MAX);
      seat.send("offer", { suit, size: LOT_MAX }, intendedAt);
      return true;
    }
    const ways = [this.open, this.trade];
    if (kind === "trade") ways.reverse();
    return ways.some((way) => way.call(this, able, intendedAt));
  }

  trade(able, intendedAt) {
    return this.offer(able, (seat) => this.sizes(seat), intendedAt);
  }

  open(able, intendedAt) {
    const not = (sizes) => [4, 3, 2, 1].filter((size) => !sizes.includes(size));
    return this.offer(able, (seat) => not(this.sizes(seat)), intendedAt);
  }

  // What the others offer, the largest first: it moves most cards.
  sizes(seat) {
    const others = this.seats.filter((other) => other !== seat && other.offered);
    return others.map((other) => other.offered).sort((a, b) => b - a);
  }

  offer(able, sizes, intendedAt) {
    for (const seat of able) {
      for (const size of sizes(seat)) {
        const suit = seat.spare(size);
        if (suit < 0) continue;
        seat.send("offer", { suit, size }, intendedAt);
        return true;
      }
    }
    return false;
  }
}
