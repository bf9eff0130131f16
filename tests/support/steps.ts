/**
 * Steps that share what the test has started. What runs through a step would count as its leak, so
 * only the test as a whole is watched for leaks. Steps may run beside each other.
 */
export function stepsOf(t: Deno.TestContext) {
  return async (name: string, fn: () => Promise<void>): Promise<void> => {
    const sanitize = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };
    await t.step({ name, fn, ...sanitize });
  };
}
