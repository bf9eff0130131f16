/** Tells a stranger what happens: numbered steps, details below them, and how long each took. */
export interface Narrator {
  /** Runs one numbered step. */
  step<T>(title: string, work: () => Promise<T>): Promise<T>;
  detail(text: string): void;
}

export function narrator(steps: number): Narrator {
  let number = 0;
  const detail = (text: string) => {
    for (const line of text.trimEnd().split("\n")) console.log(`      ${line}`);
  };
  return {
    detail,
    async step(title, work) {
      const started = performance.now();
      console.log(`\n[${++number}/${steps}] ${title}`);
      const result = await work();
      detail(`done in ${seconds(performance.now() - started)}`);
      return result;
    },
  };
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
