import assert from "node:assert/strict";
import type { BackupStorageLocation } from "../api/backup_storage_location.ts";
import { MovementError } from "../base/error.ts";
import { connectArguments } from "./connect_arguments.ts";
import { repositoryParameters } from "./repository_parameters.ts";

type Spec = BackupStorageLocation["spec"];

function location(spec: Partial<Spec>): BackupStorageLocation {
  return {
    metadata: { name: "main", namespace: "velero" },
    spec: { provider: "aws", objectStorage: { bucket: "b" }, ...spec },
  };
}

Deno.test("a filesystem location lies under <fspath>/<prefix>/kopia/<namespace>", () => {
  const spec = {
    provider: "velero.io/fs",
    objectStorage: { bucket: "any", prefix: "/pre/fix/" },
    config: { fspath: "/srv/store/" },
  };
  const parameters = repositoryParameters(location(spec), "shop");
  assert.deepEqual(parameters, { store: "filesystem", path: "/srv/store/pre/fix/kopia/shop" });
  assert.deepEqual(connectArguments(parameters, { caFile: "" }), [
    "filesystem",
    "--path=/srv/store/pre/fix/kopia/shop",
  ]);
});

const s3 = { store: "s3", bucket: "b", plainHttp: false, skipVerify: false } as const;

const placed: readonly { name: string; spec: Partial<Spec>; want: unknown }[] = [
  {
    name: "AWS without a region",
    spec: {},
    want: { ...s3, prefix: "kopia/shop/", endpoint: "s3.amazonaws.com" },
  },
  {
    name: "AWS in a region, with a prefix",
    spec: { objectStorage: { bucket: "b", prefix: "a/b/" }, config: { region: "eu-west-3" } },
    want: { ...s3, prefix: "a/b/kopia/shop/", endpoint: "s3.amazonaws.com", region: "eu-west-3" },
  },
  {
    name: "a store of one's own over plain HTTP",
    spec: { config: { s3Url: "http://minio.velero.svc:9000", region: "minio" } },
    want: {
      ...s3,
      prefix: "kopia/shop/",
      endpoint: "minio.velero.svc:9000",
      region: "minio",
      plainHttp: true,
    },
  },
  {
    name: "an unknown provider with s3Url, bucket and prefix in config",
    spec: {
      provider: "example.com/store",
      objectStorage: { bucket: "" },
      config: { s3Url: "https://s3.example.com/", bucket: "b", prefix: "p", unknown: "x" },
    },
    want: { ...s3, prefix: "p/kopia/shop/", endpoint: "s3.example.com" },
  },
  {
    name: "TLS without a check, and a CA",
    spec: {
      objectStorage: { bucket: "b", caCert: btoa("PEM") },
      config: { s3Url: "https://s3:9000", insecureSkipTLSVerify: "true" },
    },
    want: {
      ...s3,
      prefix: "kopia/shop/",
      endpoint: "s3:9000",
      skipVerify: true,
      caCerts: "PEM",
    },
  },
];

for (const { name, spec, want } of placed) {
  Deno.test(`the place of a repository on S3: ${name}`, () => {
    assert.deepEqual(repositoryParameters(location(spec), "shop"), want);
  });
}

const elsewhere: readonly { name: string; spec: Partial<Spec>; cloud?: string; want: unknown }[] = [
  {
    name: "Azure",
    spec: { provider: "azure", config: { storageAccount: "acct" } },
    want: { store: "azure", account: "acct", domain: "blob.core.windows.net" },
  },
  {
    name: "Azure in another cloud",
    spec: { provider: "velero.io/azure", config: { storageAccount: "acct" } },
    cloud: "AzureUSGovernmentCloud",
    want: { store: "azure", account: "acct", domain: "blob.core.usgovcloudapi.net" },
  },
  {
    name: "Azure at a place of its own",
    spec: {
      provider: "azure",
      config: { storageAccount: "acct", storageAccountURI: "https://acct.blob.example.com:8443/" },
    },
    want: { store: "azure", account: "acct", domain: "blob.example.com:8443" },
  },
  { name: "Google", spec: { provider: "gcp" }, want: { store: "gcs" } },
];

for (const { name, spec, cloud, want } of elsewhere) {
  Deno.test(`the place of a repository: ${name}`, () => {
    const secrets = cloud === undefined ? {} : { azureCloud: cloud };
    const place = { bucket: "b", prefix: "kopia/shop/" };
    assert.deepEqual(
      repositoryParameters(location(spec), "shop", secrets),
      { ...place, ...want as Record<string, unknown> },
    );
  });
}

Deno.test("an unknown cloud of Azure is refused", () => {
  const spec = { provider: "azure", config: { storageAccount: "acct" } };
  assert.throws(
    () => repositoryParameters(location(spec), "shop", { azureCloud: "Moon" }),
    /AZURE_CLOUD_NAME "Moon", which is not known/,
  );
});

Deno.test("a CA from caCertRef wins over caCert", () => {
  const spec = { objectStorage: { bucket: "b", caCert: btoa("old") } };
  const parameters = repositoryParameters(location(spec), "shop", { caCerts: "new" });
  assert(parameters.store === "s3");
  assert.equal(parameters.caCerts, "new");
});

Deno.test("the command line names the place and leaves the keys empty", () => {
  const spec = {
    objectStorage: { bucket: "b", caCert: btoa("PEM") },
    config: { s3Url: "http://s3:9000", region: "r", insecureSkipTLSVerify: "true" },
  };
  const parameters = repositoryParameters(location(spec), "shop");
  assert.deepEqual(connectArguments(parameters, { caFile: "/f/ca.pem" }), [
    ...["s3", "--bucket=b", "--prefix=kopia/shop/", "--endpoint=s3:9000", "--region=r"],
    ...["--disable-tls", "--disable-tls-verification", "--root-ca-pem-path=/f/ca.pem"],
    ...["--access-key=", "--secret-access-key=", "--session-token="],
  ]);
});

const refused: readonly { spec: Partial<Spec>; says: RegExp }[] = [
  { spec: { provider: "azure" }, says: /config\.storageAccount is missing/ },
  {
    spec: {
      provider: "azure",
      config: { storageAccount: "acct", storageAccountURI: "http://127.0.0.1:10000/acct" },
    },
    says: /config\.storageAccountURI "http:.*" is not of the form https:\/\/acct\.<domain>/,
  },
  {
    spec: {
      provider: "azure",
      config: { storageAccount: "acct", storageAccountURI: "https://cdn.example.com/" },
    },
    says: /config\.storageAccountURI/,
  },
  { spec: { provider: "other.io/x" }, says: /"other\.io\/x" is not known; set config\.s3Url/ },
  { spec: { provider: "fs", config: { fspath: "srv" } }, says: /fspath "srv" is relative/ },
  { spec: { provider: "fs" }, says: /config\.fspath is missing/ },
  { spec: { objectStorage: { bucket: "" } }, says: /objectStorage\.bucket is missing/ },
  { spec: { config: { s3Url: "https://s3/path" } }, says: /s3Url has more than a host/ },
  { spec: { config: { s3Url: "ftp://s3" } }, says: /"ftp:\/\/s3" is not a URL/ },
  { spec: { objectStorage: { bucket: "b", caCert: "%%" } }, says: /caCert is not base64/ },
];

for (const { spec, says } of refused) {
  Deno.test(`a location that cannot be used is refused: ${says.source}`, () => {
    assert.throws(() => repositoryParameters(location(spec), "shop"), (error) => {
      assert(error instanceof MovementError);
      assert.equal(error.reason, "StorageLocationInvalid");
      assert.match(error.message, says);
      assert.match(error.message, /BackupStorageLocation "main"/);
      return true;
    });
  });
}
