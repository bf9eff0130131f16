/**
 * Steps that share what the test has started. What runs through a step would count as its leak, so
 * only the test as a whole is watched for leaks.
 */
export function stepsOf(t: Deno.TestContext) {
  return async (name: string, fn: () => Promise<void>): Promise<void> => {
    await t.step({ name, fn, sanitizeOps: false, sanitizeResources: false });
  };
}
