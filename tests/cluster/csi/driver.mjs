// A small CSI driver for the one-node cluster: a file system volume is a folder, a block volume
// a sparse file behind a loop device, snapshots and clones are copies. It registers itself with the
// kubelet, so no node-driver-registrar is needed. Node.js only: Deno never answers its calls.
//
// CSI_NAME              the driver's name
// CSI_NODE              the node's
// CSI_DATA              the folder of volumes and snapshots
// CSI_SOCKET            where it serves CSI
// REGISTRATION_SOCKET   where the kubelet looks for it
import { mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { controller } from "./controller.mjs";
import { node } from "./node.mjs";
import { volumeStore } from "./store.mjs";

// Its packages lie beside the copy of it that runs, not beside this file, where checks would look.
const require = createRequire(import.meta.url);
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");
const {
  CSI_NAME: name,
  CSI_NODE: nodeName,
  CSI_DATA: data,
  CSI_SOCKET: socket,
  REGISTRATION_SOCKET: registrationSocket,
} = process.env;
const csi = definitions("csi.proto").csi.v1;
const { pluginregistration } = definitions("registration.proto");
const quiet = /^(Probe|Get.*|.*GetCapabilities|NodeGetVolumeStats|ListSnapshots)$/;
const store = volumeStore(data);

const identity = {
  GetPluginInfo: () => ({ name, vendor_version: "1" }),
  GetPluginCapabilities: () => ({
    capabilities: [{ service: { type: "CONTROLLER_SERVICE" } }],
  }),
  Probe: () => ({ ready: { value: true } }),
};
const registration = {
  GetInfo: () => ({
    type: "CSIPlugin",
    name,
    endpoint: socket,
    supported_versions: ["1.0.0"],
  }),
  NotifyRegistrationStatus: () => ({}),
};

await serve(socket, [
  [csi.Identity, identity],
  [csi.Controller, controller(store)],
  [csi.Node, node(store, nodeName)],
]);
await serve(registrationSocket, [[pluginregistration.Registration, registration]]);

function definitions(file) {
  const options = { keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true };
  return grpc.loadPackageDefinition(loader.loadSync(join(import.meta.dirname, file), options));
}

function serve(path, services) {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  const server = new grpc.Server();
  for (const [definition, calls] of services) {
    server.addService(definition.service, answering(calls));
  }
  return new Promise((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync(`unix://${path}`, credentials, (error) => error ? reject(error) : resolve());
  });
}

/** Each call is a plain function of the request; what it throws with a gRPC code is the answer. */
function answering(calls) {
  return Object.fromEntries(
    Object.entries(calls).map(([call, answer]) => [
      call,
      ({ request }, done) => {
        try {
          const result = answer(request);
          if (!quiet.test(call)) log(call, request, "done");
          done(null, result);
        } catch (error) {
          log(call, request, error.message);
          const code = typeof error.code === "number" ? error.code : grpc.status.INTERNAL;
          done({ code, details: error.message });
        }
      },
    ]),
  );
}

function log(call, request, text) {
  const about = request.volume_id || request.snapshot_id || request.name || "";
  console.log(new Date().toISOString(), call, about, text);
}
