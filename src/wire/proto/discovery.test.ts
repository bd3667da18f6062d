import fc from 'fast-check';
import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import descriptors from './descriptors.json' with { type: 'json' };
import {
  acknowledgement,
  decodeDeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
  encodeDeltaResponse,
} from './discovery.ts';
import { typeUrls } from './type-urls.ts';

const root = protobuf.Root.fromJSON(descriptors as protobuf.INamespace);
const requestType = root.lookupType('envoy.service.discovery.v3.DeltaDiscoveryRequest');
const responseType = root.lookupType('envoy.service.discovery.v3.DeltaDiscoveryResponse');

const text = fc.string({ maxLength: 20 });
const filled = fc.string({ minLength: 1, maxLength: 20 });
const bytes = fc.uint8Array({ maxLength: 30 }).map((b) => Buffer.from(b));
const refusal = fc.record({ name: filled, message: text });
const request = fc.record({
  node: fc.option(bytes, { nil: undefined }),
  typeUrl: text,
  subscribe: fc.array(text),
  unsubscribe: fc.array(text),
  initialVersions: fc.array(fc.tuple(filled, text)).map((entries) => new Map(entries)),
  nonce: text,
  error: fc.option(fc.record({ code: fc.integer(), message: text, refusals: fc.array(refusal) }), {
    nil: undefined,
  }),
});
const resource = fc.record({
  name: text,
  version: text,
  typeUrl: text,
  body: bytes,
  metadata: fc.option(bytes, { nil: undefined }),
});
const response = fc.record({
  typeUrl: text,
  nonce: text,
  resources: fc.array(resource),
  removals: fc.array(text),
});

test('what is written is read back', () => {
  fc.assert(
    fc.property(request, (r) => {
      expect(decodeDeltaRequest(encodeDeltaRequest(r))).toEqual(r);
    }),
  );
  fc.assert(
    fc.property(response, (r) => {
      expect(decodeDeltaResponse(encodeDeltaResponse(r))).toEqual(r);
    }),
  );
});

test('the messages are what the protocol defines', () => {
  const r = {
    node: undefined,
    typeUrl: typeUrls.cluster,
    subscribe: ['a', '*'],
    unsubscribe: ['b'],
    initialVersions: new Map([['a', '1']]),
    nonce: 'n',
    error: acknowledgement(typeUrls.cluster, 'n', [{ name: 'a', message: 'bad' }]).error,
  };
  const plain = requestType.toObject(requestType.decode(encodeDeltaRequest(r)));
  expect(plain).toMatchObject({
    type_url: typeUrls.cluster,
    resource_names_subscribe: ['a', '*'],
    resource_names_unsubscribe: ['b'],
    initial_resource_versions: { a: '1' },
    response_nonce: 'n',
    error_detail: {
      code: 3,
      message: '1 refused, first a: bad',
      details: [{ type_url: typeUrls.resourceInfo }],
    },
  });
  const info = root
    .lookupType('google.rpc.ResourceInfo')
    .toObject(
      root
        .lookupType('google.rpc.ResourceInfo')
        .decode((plain.error_detail as { details: { value: Buffer }[] }).details[0]?.value as Buffer),
    );
  expect(info).toEqual({ resource_type: typeUrls.cluster, resource_name: 'a', description: 'bad' });
  const foreign = responseType
    .encode({
      system_version_info: '7',
      resources: [
        { name: 'a', version: '1', aliases: ['x'], resource: { type_url: 't', value: Buffer.from('body') } },
        { name: 'heartbeat', version: '1' },
        {
          version: '2',
          resource_name: { name: 'by-name' },
          resource: { type_url: 't', value: Buffer.from('b') },
        },
      ],
      type_url: 't',
      removed_resources: ['gone'],
      removed_resource_names: [{ name: 'gone too' }],
      nonce: 'n',
    })
    .finish();
  expect(decodeDeltaResponse(foreign)).toEqual({
    typeUrl: 't',
    nonce: 'n',
    resources: [
      { name: 'a', version: '1', typeUrl: 't', body: Buffer.from('body'), metadata: undefined },
      { name: 'by-name', version: '2', typeUrl: 't', body: Buffer.from('b'), metadata: undefined },
    ],
    removals: ['gone', 'gone too'],
  });
});

test('any bytes are read or refused, at once', () => {
  const attempt = (b: Uint8Array): void => {
    for (const decode of [decodeDeltaRequest, decodeDeltaResponse]) {
      try {
        decode(b);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), attempt));
  fc.assert(
    fc.property(response, fc.nat(), fc.nat(255), (r, at, value) => {
      const changed = Uint8Array.from(encodeDeltaResponse(r));
      changed[at % Math.max(1, changed.length)] = value;
      attempt(changed);
      attempt(changed.subarray(0, at % (changed.length + 1)));
    }),
  );
});
