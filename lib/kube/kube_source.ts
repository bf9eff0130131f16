import type { KubeClient, Where } from "./client.ts";
import type { ListPart } from "./list_items.ts";
import { keyOf, type KubeObject, type Resource } from "./object.ts";
import type { SourceEvent, SourceList, SourceWatch, WatchSource } from "./watch_source.ts";

export interface KubeSourceOptions<T extends KubeObject, S extends KubeObject> extends Where {
  /**
   * What is kept of an object; it must keep name, namespace, uid and resourceVersion. `undefined`
   * = not of interest: as if the object did not exist, also when it once was of interest.
   */
  readonly trim: (object: T) => S | undefined;
}

/** The objects of one kind as the API server has them, trimmed as they come. */
export function kubeSource<T extends KubeObject, S extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  options: KubeSourceOptions<T, S>,
): WatchSource<S> {
  const { trim, ...where } = options;

  async function* list(how: SourceList, signal: AbortSignal): AsyncGenerator<ListPart<S>> {
    for await (const part of client.listParts(resource, { ...where, ...how }, signal)) {
      const items = part.items.map(trim).filter((object) => object !== undefined);
      yield { ...part, items };
    }
  }

  async function* watch(how: SourceWatch, signal: AbortSignal): AsyncGenerator<SourceEvent<S>> {
    const options = { ...where, ...how, opening: "told" } as const;
    for await (const event of client.watch(resource, options, signal)) {
      if (event.type === "OPENED") {
        yield { type: "opened", resourceVersion: how.resourceVersion };
        continue;
      }
      if (event.type === "BOOKMARK") {
        yield { type: "bookmark", resourceVersion: event.resourceVersion };
        continue;
      }
      const { resourceVersion = how.resourceVersion } = event.object.metadata;
      const object = event.type === "DELETED" ? undefined : trim(event.object);
      yield object === undefined
        ? { type: "gone", key: keyOf(event.object), resourceVersion }
        : { type: "set", object, resourceVersion };
    }
  }

  return { name: nameOf(resource, where), list, watch };
}

/** A trim that keeps all but `managedFields`, often half of an object. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T["metadata"] & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
}

function nameOf(resource: Resource<KubeObject>, where: Where): string {
  const plural = resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
  const place = where.namespace === undefined ? "" : ` in namespace "${where.namespace}"`;
  const selectors = [where.labelSelector, where.fieldSelector].filter((text) => text !== undefined);
  return `${plural}${place}${selectors.length > 0 ? ` with ${selectors.join(",")}` : ""}`;
}
