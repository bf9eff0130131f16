import type { Certificate } from "./connection.ts";
import type { Purpose, Wire } from "./wire.ts";

/** A wire for one request; disposing it gives it back. */
export interface Lease extends Disposable {
  readonly wire: Wire;
  /** The wire's connections are not to be trusted any more: the next request gets a new one. */
  retire(): void;
}

export interface WirePool {
  take(purpose: Purpose, certificate: Certificate | undefined): Promise<Lease>;
  /** Closes every wire, also one with requests under way. */
  close(): void;
}

export type OpenWire = (purpose: Purpose, certificate: Certificate | undefined) => Promise<Wire>;

/**
 * Keeps one shared wire for each purpose. A retired one, or one with a certificate that has been
 * replaced, is closed when its last request has ended.
 */
export function wirePool(openWire: OpenWire): WirePool {
  interface Slot {
    readonly wire: Promise<Wire>;
    readonly certificate: Certificate | undefined;
    users: number;
    retired: boolean;
    closed: boolean;
  }
  const slots = new Map<Purpose, Slot>();
  /** With the retired ones whose last request has not ended. */
  const open = new Set<Slot>();

  function slotFor(purpose: Purpose, certificate: Certificate | undefined): Slot {
    const known = slots.get(purpose);
    if (known?.certificate?.cert === certificate?.cert && known !== undefined) return known;
    if (known !== undefined) retire(purpose, known);
    const wire = openWire(purpose, certificate);
    const slot: Slot = { wire, certificate, users: 0, retired: false, closed: false };
    slots.set(purpose, slot);
    open.add(slot);
    slot.wire.catch(() => slots.get(purpose) === slot && slots.delete(purpose));
    return slot;
  }

  function retire(purpose: Purpose, slot: Slot): void {
    if (slots.get(purpose) === slot) slots.delete(purpose);
    slot.retired = true;
    closeIfUnused(slot);
  }

  function closeIfUnused(slot: Slot): void {
    if (slot.retired && slot.users === 0) close(slot);
  }

  function close(slot: Slot): void {
    if (slot.closed) return;
    slot.closed = true;
    open.delete(slot);
    slot.wire.then((wire) => wire.close(), () => {});
  }

  return {
    async take(purpose, certificate) {
      const slot = slotFor(purpose, certificate);
      slot.users++;
      const give = () => {
        slot.users--;
        closeIfUnused(slot);
      };
      try {
        const wire = await slot.wire;
        return { wire, retire: () => retire(purpose, slot), [Symbol.dispose]: give };
      } catch (error) {
        give();
        throw error;
      }
    },
    close() {
      slots.clear();
      for (const slot of open) close(slot);
    },
  };
}
