import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/**
 * The metrics of one process. Names get the prefix `causeway_`; making one twice gives the first. Each is
 * documented in docs/metrics.md.
 */
export class Metrics {
  readonly registry = new Registry();

  /** Adds the process's own figures (CPU, memory, event loop). */
  collectProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  counter(options: MetricOptions): Counter<string> {
    return this.#get(options, (o) => new Counter(o)) as Counter<string>;
  }

  /** `collect` is called when the metrics are read, for what would cost too much at every change. */
  gauge(options: MetricOptions & { collect?: (gauge: Gauge<string>) => void }): Gauge<string> {
    const { collect } = options;
    return this.#get(options, (o) =>
      collect
        ? new Gauge({
            ...o,
            collect() {
              collect(this);
            },
          })
        : new Gauge(o),
    ) as Gauge<string>;
  }

  histogram(options: MetricOptions & { buckets: readonly number[] }): Histogram<string> {
    return this.#get(
      options,
      (o) => new Histogram({ ...o, buckets: [...options.buckets] }),
    ) as Histogram<string>;
  }

  #get<T>(
    options: MetricOptions,
    make: (o: { name: string; help: string; labelNames: string[]; registers: Registry[] }) => T,
  ): unknown {
    const name = `causeway_${options.name}`;
    return (
      this.registry.getSingleMetric(name) ??
      make({ name, help: options.help, labelNames: [...(options.labels ?? [])], registers: [this.registry] })
    );
  }
}
