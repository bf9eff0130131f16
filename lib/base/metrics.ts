/** The only owner of the metrics library. One registry a program; its names are listed in docs. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";

export type Labels = Readonly<Record<string, string>>;

export interface CounterMetric {
  add(labels: Labels, by?: number): void;
}

export interface GaugeMetric {
  set(labels: Labels, value: number): void;
}

export interface HistogramMetric {
  observe(labels: Labels, value: number): void;
  /** The series is there, with no observation yet. */
  zero(labels: Labels): void;
}

export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** A gauge that is asked for its series at each scrape. */
export interface SampledOptions extends MetricOptions {
  readonly sample: () => Iterable<readonly [Labels, number]>;
}

export interface Metrics {
  counter(options: MetricOptions): CounterMetric;
  gauge(options: MetricOptions): GaugeMetric;
  sampled(options: SampledOptions): void;
  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): HistogramMetric;
  /** The text of a scrape and its content type. */
  render(): Promise<{ readonly text: string; readonly contentType: string }>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const common = ({ name, help, labels = [] }: MetricOptions) => ({
    name,
    help,
    labelNames: [...labels],
    registers,
  });
  const metrics: Metrics = {
    counter(options) {
      const counter = new Counter(common(options));
      return { add: (labels, by = 1) => counter.inc({ ...labels }, by) };
    },
    gauge(options) {
      const gauge = new Gauge(common(options));
      return { set: (labels, value) => gauge.set({ ...labels }, value) };
    },
    sampled({ sample, ...options }) {
      new Gauge({
        ...common(options),
        collect() {
          this.reset();
          for (const [labels, value] of sample()) this.set({ ...labels }, value);
        },
      });
    },
    histogram({ buckets, ...options }) {
      const histogram = new Histogram({ ...common(options), buckets: [...buckets] });
      return {
        observe: (labels, value) => histogram.observe({ ...labels }, value),
        zero: (labels) => histogram.zero({ ...labels }),
      };
    },
    async render() {
      return { text: await registry.metrics(), contentType: registry.contentType };
    },
  };
  processGauges(metrics);
  return metrics;
}

/** The process gauges every dashboard knows; the library's own need more than the runtime has. */
function processGauges(metrics: Metrics): void {
  const startSeconds = (Date.now() - performance.now()) / 1_000;
  metrics.sampled({
    name: "process_resident_memory_bytes",
    help: "Resident memory of the agent itself, without its children.",
    sample: () => [[{}, Deno.memoryUsage().rss]],
  });
  metrics.sampled({
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since 1970.",
    sample: () => [[{}, startSeconds]],
  });
}
