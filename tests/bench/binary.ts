import { agentProgram } from "../support/agent.ts";
import { runProcess } from "../support/process.ts";
import { type Measure, median } from "./measure.ts";

const runs = 21;

/** The size of the binary, and how long it takes to say what it is. */
export async function measureBinary(): Promise<Measure[]> {
  const [program] = agentProgram();
  const { size } = await Deno.stat(program);
  const measures: Measure[] = [
    { is: "value", name: "binary: size", unit: "MB", value: size / 1_000_000, limit: 105 },
  ];
  for (const flag of ["--help", "--version"]) {
    const times: number[] = [];
    for (let run = 0; run < runs; run++) {
      const started = performance.now();
      const { code, stderr } = await runProcess(program, [flag]);
      times.push(performance.now() - started);
      if (code !== 0) throw new Error(`"${program} ${flag}" failed: ${stderr}`);
    }
    measures.push({
      is: "value",
      name: `binary: ${flag}, median`,
      unit: "ms",
      value: median(times),
      limit: 150,
    });
  }
  return measures;
}
