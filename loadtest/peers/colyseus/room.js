// The room: a round of Pit without Bull and Bear, in memory, over and over.
import { Room } from "@colyseus/core";

const SEATS = 4;
const SUITS = SEATS;
const CARDS_A_SUIT = 9;
const LOT_MAX = 4;

export class PitRoom extends Room {
  maxClients = SEATS;
  seats = [];
  hands = [];
  // By seat: { suit, size, at } or null. `at` orders them: the oldest of a size is met first.
  offers = [];
  offersMade = 0;

  messages = {
    offer: (client, lot) => this.offer(client, lot),
    withdraw: (client) => this.withdraw(client),
    bell: (client, called) => this.bell(client, called),
  };

  onCreate({ patchRate }) {
    if (patchRate) this.patchRate = patchRate;
  }

  onJoin(client) {
    client.userData = this.seats.length;
    this.seats.push(client);
    client.send("seated", { seat: client.userData });
    if (this.seats.length === SEATS) this.deal(null);
  }

  deal(by) {
    const pack = Array.from({ length: SUITS * CARDS_A_SUIT }, (_, card) => card % SUITS);
    for (let last = pack.length - 1; last > 0; last--) {
      const other = Math.floor(Math.random() * (last + 1));
      [pack[last], pack[other]] = [pack[other], pack[last]];
    }
    this.hands = this.seats.map(() => new Array(SUITS).fill(0));
    this.offers = this.seats.map(() => null);
    pack.forEach((suit, place) => this.hands[place % SEATS][suit]++);
    this.seats.forEach((client, seat) => client.send("dealt", { by, hand: this.hands[seat] }));
  }

  offer(client, { suit, size, number }) {
    const seat = client.userData;
    const hand = this.hands[seat];
    if (!Number.isInteger(size) || size < 1 || size > LOT_MAX) return this.refuse(client, "SIZE");
    if (!hand || !(hand[suit] >= size)) return this.refuse(client, "NOT_YOURS");
    const partner = this.partner(seat, size);
    if (partner === null) {
      this.offers[seat] = { suit, size, at: this.offersMade++ };
      return this.broadcast("offered", { seat, size });
    }
    const theirs = this.offers[partner].suit;
    this.offers[seat] = this.offers[partner] = null;
    this.move(seat, partner, suit, size);
    this.move(partner, seat, theirs, size);
    this.tellTrade({ seat, partner, size, number }, suit, theirs);
  }

  partner(seat, size) {
    let found = null;
    this.offers.forEach((offer, other) => {
      if (offer === null || other === seat || offer.size !== size) return;
      if (found === null || offer.at < this.offers[found].at) found = other;
    });
    return found;
  }

  move(from, to, suit, size) {
    this.hands[from][suit] -= size;
    this.hands[to][suit] += size;
  }

  // Everybody is told of it; the two, and nobody else, which cards went where.
  tellTrade(trade, given, received) {
    const [one, other] = [this.seats[trade.seat], this.seats[trade.partner]];
    this.broadcast("traded", trade, { except: [one, other] });
    one.send("traded", { ...trade, given, received });
    other.send("traded", { ...trade, given: received, received: given });
  }

  withdraw(client) {
    const seat = client.userData;
    if (!this.offers[seat]) return this.refuse(client, "NO_OFFER");
    this.offers[seat] = null;
    this.broadcast("withdrawn", { seat });
  }

  bell(client, { suit }) {
    const seat = client.userData;
    if (this.hands[seat]?.[suit] !== CARDS_A_SUIT) return this.refuse(client, "NO_CORNER");
    this.broadcast("corner", { seat, suit });
    this.deal(seat);
  }

  refuse(client, reason) {
    client.send("refused", { reason });
  }
}
