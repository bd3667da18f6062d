import { createSocket } from 'node:dgram';
import { createServer, type Socket } from 'node:net';
import { hostname } from 'node:os';

/**
 * The server that runs in every pod: `echo.ts NAME PORT…` with ports as `tcp-8080`, `udp-5353`. It says who it
 * is: to HTTP, to each line of anything else, to a client that connects and stays silent, and to each datagram.
 * The answer's first word is NAME. It prints `ready` once it listens on all its ports, and needs no package, so
 * that it starts fast and stays small.
 */

const [name, ...ports] = process.argv.slice(2);
/** Longer than a client that speaks first ever waits, also on a busy machine: what it gets early is no HTTP to it. */
const silenceMs = 2_000;

const answer = (client: string, port: number): string =>
  `${name} hostname=${hostname()} client=${client} port=${port}\n`;

function serve(socket: Socket, port: number): void {
  const text = answer(socket.remoteAddress?.replace(/^::ffff:/, '') ?? '', port);
  let silent = true;
  const greet = setTimeout(() => socket.write(text), silenceMs);
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('close', () => clearTimeout(greet));
  socket.on('end', () => {
    if (silent) socket.write(text);
    socket.end();
  });
  socket.on('data', (data) => {
    clearTimeout(greet);
    const first = silent;
    silent = false;
    if (first && /^(GET|HEAD|POST|PUT|DELETE|OPTIONS) /.test(data.toString('latin1', 0, 8))) {
      const body = data.toString('latin1', 0, 5) === 'HEAD ' ? '' : text;
      socket.end(
        `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${body}`,
      );
      return;
    }
    for (const byte of data) if (byte === 10) socket.write(text);
  });
}

const listening = (ports ?? []).map(
  (text) =>
    new Promise<void>((resolve) => {
      const [protocol, number] = text.split('-');
      const port = Number(number);
      if (protocol === 'udp') {
        const socket = createSocket('udp6');
        socket.on('message', (_, from) => {
          socket.send(answer(from.address.replace(/^::ffff:/, ''), port), from.port, from.address);
        });
        socket.bind(port, resolve);
      } else {
        createServer({ allowHalfOpen: true }, (socket) => serve(socket, port)).listen(port, resolve);
      }
    }),
);
await Promise.all(listening);
process.stdout.write('ready\n');
