/**
 * Measures the built binary against its limits, and against bare kopia in the same run.
 *
 *   make bench [ONLY=queue,claim,big,start,stale,writes,series,soak,binary] [SMALL=1]
 *
 * SMALL=1 takes fewer and smaller loads, to try the measurements themselves. The files lie in
 * TMPDIR: 13 GB for the full size. Exit codes: 0 all limits kept, 1 one is missed or a measurement
 * failed, 2 wrong usage, 130 interrupted.
 */
import { measureBig } from "./big.ts";
import { measureBinary } from "./binary.ts";
import { measureClaim } from "./claim.ts";
import { formatTable, isOver, type Measure } from "./measure.ts";
import { measureQueue } from "./queue.ts";
import { measureSeries } from "./series.ts";
import { measureSoak } from "./soak.ts";
import { openStage, type Stage } from "./stage.ts";
import { measureStale } from "./stale.ts";
import { measureStart } from "./start.ts";
import { measureWrites } from "./writes.ts";

const parts: Readonly<Record<string, (stage: Stage) => Promise<Measure[]>>> = {
  binary: measureBinary,
  start: measureStart,
  stale: measureStale,
  claim: measureClaim,
  writes: measureWrites,
  queue: measureQueue,
  series: measureSeries,
  soak: measureSoak,
  big: measureBig,
};

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(name, () => stop.abort(new DOMException(name, "AbortError")));
}
Deno.exit(await bench());

async function bench(): Promise<number> {
  const only = (Deno.env.get("ONLY") ?? "").split(",").filter((name) => name !== "");
  const unknown = only.filter((name) => !Object.hasOwn(parts, name));
  if (unknown.length > 0) {
    console.error(`usage: ONLY=${unknown.join()} is unknown; there are ${Object.keys(parts)}`);
    return 2;
  }
  const names = Object.keys(parts).filter((name) => only.length === 0 || only.includes(name));
  const small = Boolean(Deno.env.get("SMALL"));
  const loadBefore = load();
  try {
    const results = await measureAll(names, small);
    await report(results, { small, loadBefore });
    return results.failed.length > 0 || results.measures.some(isOver) ? 1 : 0;
  } catch (error) {
    if (stop.signal.aborted) return 130;
    console.error("bench: failed:", error);
    return 1;
  }
}

interface Results {
  readonly measures: readonly Measure[];
  /** Parts that could not be measured. */
  readonly failed: readonly string[];
}

async function measureAll(names: readonly string[], small: boolean): Promise<Results> {
  console.error("bench: starting the control plane");
  await using stage = await openStage({ small, signal: stop.signal });
  const measures: Measure[] = [];
  const failed: string[] = [];
  for (const name of names) {
    const started = performance.now();
    try {
      measures.push(...await parts[name]!(stage));
      console.error(`bench: ${name} took ${Math.round((performance.now() - started) / 1_000)} s`);
    } catch (error) {
      stop.signal.throwIfAborted();
      failed.push(name);
      console.error(`bench: ${name} failed:`, error);
    }
  }
  return { measures, failed };
}

async function report(
  { measures, failed }: Results,
  { small, loadBefore }: { readonly small: boolean; readonly loadBefore: number },
) {
  const machine = {
    cpus: navigator.hardwareConcurrency,
    memoryMiB: Math.round(Deno.systemMemoryInfo().total / 1_048_576),
    kernel: Deno.osRelease(),
    loadBefore,
    loadAfter: load(),
  };
  const rows = measures.map((measure) => ({ ...measure, over: isOver(measure) }));
  const json = { at: new Date().toISOString(), small, machine, failed, measures: rows };
  const file = new URL("../../dist/bench.json", import.meta.url);
  await Deno.writeTextFile(file, `${JSON.stringify(json, undefined, 2)}\n`);
  console.log(formatTable(measures));
  console.log(JSON.stringify(json));
  console.log(`load average before: ${loadBefore.toFixed(1)}; the JSON is in dist/bench.json too`);
  if (failed.length > 0) console.log(`not measured, see above: ${failed}`);
  if (small) console.log("SMALL=1: these figures say nothing about the limits");
}

/** Of the last minute. */
function load(): number {
  return Deno.loadavg()[0] ?? NaN;
}
